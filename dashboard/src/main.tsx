/**
 * Starts the dashboard: renders the app into the page. Begin here, then in `app`.
 */
import { render } from 'preact';
import { App } from './app/app.tsx';

render(<App />, document.getElementById('app')!);
