/**
 * Starts the dashboard: puts the app onto the page. Begin here, then in `app`.
 */
import { render } from 'preact';
import { App } from './app/app.tsx';

render(<App />, document.getElementById('app')!);
