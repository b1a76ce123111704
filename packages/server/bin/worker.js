// The program of a worker of `gatehouse serve --workers`. Plain JavaScript, so that the compile cache is on before TypeScript is read.
import { enableCompileCache } from './compile-cache.js'
import { programOf } from './program.js'

enableCompileCache()
const { runWorker } = await import(programOf('cli/serve/worker.ts'))
await runWorker()
