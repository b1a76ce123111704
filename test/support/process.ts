/** Gatehouse as a process of its own, as an operator runs it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { keepWritten } from './written.ts'

const PROGRAM = fileURLToPath(new URL('../../bin/gatehouse.js', import.meta.url))

export interface Finished {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly cwd?: string
}

/** Runs a command to its end. */
export async function runGatehouse(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const { child, output, ended } = launchGatehouse(args, options)
  child.stdin?.end(options.stdin ?? '')
  return { status: await ended, ...output() }
}

export interface RunningProcess {
  readonly child: ChildProcess
  readonly issuer: string
  readonly port: number
  output(): { readonly stdout: string; readonly stderr: string }
  /** Resolves with the exit status, null when a signal ended it. */
  readonly ended: Promise<number | null>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Starts `serve` on a free port and waits until it says where it listens. */
export async function serveProcess(args: readonly string[], options: RunOptions = {}): Promise<RunningProcess> {
  const { child, output, ended } = launchGatehouse(
    ['serve', '--port', '0', '--log-format', 'json', '--log-level', 'info', ...args],
    options,
  )
  const started = await waitForLine(child, output, ended)
  return {
    child,
    output,
    ended,
    issuer: started.issuer,
    port: started.port,
    stop(signal = 'SIGTERM') {
      child.kill(signal)
      return ended
    },
  }
}

/** Starts a command; what it is given and what becomes of what it says is the caller's to decide. */
export function launchGatehouse(args: readonly string[], { environment = {}, cwd }: RunOptions = {}) {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...withoutOurs(process.env), ...environment },
  })
  let stdout = ''
  let stderr = ''
  // Only what a server logs: a command may show a secret that it made to the person who asked.
  const keep = args[0] === 'serve' ? keepWritten : () => {}
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
    if (!args.includes('--demo')) keep(chunk)
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
    keep(chunk)
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code))
  })
  return { child, ended, output: () => ({ stdout, stderr }) }
}

/** The settings of whoever runs the tests must not leak into them. */
function withoutOurs(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('GATEHOUSE_')))
}

function waitForLine(
  child: ChildProcess,
  output: () => { stdout: string; stderr: string },
  ended: Promise<number | null>,
): Promise<{ issuer: string; port: number }> {
  return new Promise((resolve, reject) => {
    const look = () => {
      const line = output()
        .stdout.split('\n')
        .find((candidate) => candidate.includes('"msg":"started"'))
      if (line !== undefined) resolve(JSON.parse(line))
    }
    child.stdout?.on('data', look)
    ended.then(
      (status) => reject(new Error(`serve ended with ${status}: ${output().stderr}${output().stdout}`)),
      reject,
    )
  })
}
