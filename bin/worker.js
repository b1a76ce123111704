// The program of a worker of `gatehouse serve --workers`. Plain JavaScript, so that the compile cache is on before TypeScript is read.
import module from 'node:module'
import { programOf } from './program.js'

module.enableCompileCache?.()
const { runWorker } = await import(programOf('cli/serve/worker.ts'))
await runWorker()
