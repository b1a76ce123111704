/** A long write runs in a process of its own, which can be killed: what it had not committed never happened. */
import type { WriteReply } from '../engine.ts'
import { Reader, ReaderGone } from './reader.ts'
import type { ChangeJob, WriteJob } from './write.ts'

/** Changes of the catalogue have a reply only where it is to be remembered. */
export async function runInProcess(
  path: string,
  job: WriteJob | ChangeJob,
  signal: AbortSignal,
): Promise<WriteReply | undefined> {
  signal.throwIfAborted()
  const worker = new Reader(path, 'write')
  const stop = (): void => worker.kill()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await worker.write(job)
  } catch (error) {
    if (!(error instanceof ReaderGone) || !signal.aborted) throw error
    throw signal.reason
  } finally {
    signal.removeEventListener('abort', stop)
    worker.kill()
    await worker.exited
  }
}
