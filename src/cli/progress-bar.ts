/** A progress bar on standard error. It is not shown if standard error is not a terminal. */
export interface ProgressBar {
  readonly start: (total: number) => void;
  readonly advance: (by: number) => void;
  readonly stop: () => void;
}

export async function createProgressBar(): Promise<ProgressBar> {
  if (!process.stderr.isTTY) return { start: () => undefined, advance: () => undefined, stop: () => undefined };
  const { default: progress } = await import('cli-progress');
  const bar = new progress.SingleBar(
    { format: '{bar} {percentage} %  {eta_formatted} left', clearOnComplete: true },
    progress.Presets.shades_classic,
  );
  return { start: (total) => bar.start(total, 0), advance: (by) => bar.increment(by), stop: () => bar.stop() };
}
