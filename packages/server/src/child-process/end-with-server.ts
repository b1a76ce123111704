/** What every process of the server that blocks in SQLite does first: it leaves signals to the server, and ends when the server does. */
import { Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'

/** The pipe at descriptor 3 ends with the server. */
export function endWithServer(): void {
  // On its own this process would wait for the thread below before it ends, and the server would wait for this process.
  process.on('uncaughtException', (error) => {
    console.error(error)
    process.kill(process.pid, 'SIGKILL')
  })

  // A signal to all processes of a service is for the server, which ends this one once requests are answered.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})

  // Before there is another thread: better-sqlite3 finds its library with process.report, which waits until every thread has
  // reported, and the one below never would.
  new Sqlite(':memory:').close()

  // A statement blocks the main thread. This one notices that the server is gone, because its pipe ends, and ends the process.
  new Worker(`require('node:fs').readSync(3, Buffer.alloc(1)); process.kill(process.pid, 'SIGKILL')`, {
    eval: true,
    // Opening process.stdout would make the pipe of the results non-blocking.
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
  })
}
