#!/usr/bin/env node
/**
 * The command `storeroom`: runs src/main.ts. If this Node is too old, it starts the one that npm installed, and passes
 * on arguments, standard input and output, signals and the exit code. `serve` warns if neither has all security fixes.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chooseNode, describeRisk, findNode, running } from './node-26.js';

const PARENT_LOOK_MS = 100;
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

const node = chooseNode([running, findNode()]);
if (node === undefined) {
  console.error(
    `storeroom needs Node 26 or newer, and this is Node ${running.version}. npm did not install the Node that comes ` +
      'with it: run "npm ci" in a checkout, or install the package again.',
  );
  process.exit(1);
}
const risk = describeRisk(node);
if (risk !== undefined && process.argv[2] === 'serve') console.error(risk);
if (node === running) {
  stopWithNpx(() => process.kill(process.pid, 'SIGTERM'));
  await import('../src/main.ts');
} else handOver(node.path);

function handOver(program) {
  const child = spawn(program, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  stopWithNpx(() => child.kill('SIGTERM'));
  child.on('error', (error) => {
    console.error(`storeroom could not start ${program}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * npx runs a shell that ends on a signal without passing it on: another parent is then the only sign of it. A start
 * without npx may outlive its parent.
 */
function stopWithNpx(stop) {
  if (process.env.npm_command !== 'exec') return;
  const { ppid } = process;
  const timer = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(timer);
    stop();
  }, PARENT_LOOK_MS).unref();
}
