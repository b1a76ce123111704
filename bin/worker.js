// The program of a worker of `gatehouse serve --workers`. Plain JavaScript, so that the compile cache is on before TypeScript is read.
import module from 'node:module'

module.enableCompileCache?.()
const { runWorker } = await import('../src/cli/serve/worker.ts')
await runWorker()
