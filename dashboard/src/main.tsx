/**
 * Where the dashboard starts: puts the app onto the page. Does nothing else.
 */
import { render } from 'preact';
import { App } from './app/app.tsx';

render(<App />, document.getElementById('app')!);
