/** `gatehouse serve`: runs the server, or a supervisor and its workers, until it receives a signal. */
import type { Arguments } from './args.ts'
import { ignoreOutputErrors, keepYoungGeneration } from './serve/process-options.ts'
import { loadSettings } from './settings.ts'

/** Only what is run is loaded: a supervisor does not need the server. */
export async function serve(args: Arguments): Promise<void> {
  keepYoungGeneration()
  ignoreOutputErrors()
  const settings = await loadSettings(args)
  if (settings.config.workers > 1) await (await import('./serve/workers.ts')).serveWithWorkers(args, settings)
  else await (await import('./serve/alone.ts')).serveAlone(args, settings)
}
