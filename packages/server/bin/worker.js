// The program of a worker of `gatehouse serve --workers`. Plain JavaScript, so that the compile cache is on before TypeScript is read.
import { enableCompileCache } from './compile-cache.js'
import { chooseProgram } from './program.js'

enableCompileCache()
const { runWorker } = await import(chooseProgram('cli/serve/worker.ts'))
await runWorker()
