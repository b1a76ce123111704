/** Runs another program to its end, and the folder where downloads stay. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Outside the sources, so that their folders hold only what is committed. */
export const CACHE = fileURLToPath(new URL('../../node_modules/.cache/tools', import.meta.url))

export interface Ended {
  readonly status: number
  readonly output: string
}

interface CommandOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly input?: Buffer | undefined
  readonly cwd?: string
  readonly seconds: number
}

export function runCommand(
  [program = '', ...args]: readonly string[],
  { environment = {}, input, cwd = CACHE, seconds }: CommandOptions,
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...environment }, timeout: seconds * 1000 })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    child.stdin.on('error', () => {}).end(input)
    child.on('error', (error) => resolve({ status: 127, output: `${output}${error.message}` }))
    child.on('close', (status, signal) => {
      const ended = signal === null ? '' : `\nended by ${signal}; it may run for ${seconds} s`
      resolve({ status: status ?? 1, output: output + ended })
    })
  })
}
