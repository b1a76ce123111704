/** The program of a worker. */
import module from 'node:module'

module.enableCompileCache?.()
const { runWorker } = await import('./worker.ts')
await runWorker()
