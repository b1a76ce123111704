/** Runs the gatehouse program as a process, like an operator. */
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { keepWritten } from './written.ts'

const PROGRAM = fileURLToPath(new URL('../../packages/server/bin/gatehouse.js', import.meta.url))

export interface Finished {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly cwd?: string
  /** Run as this user; only root may. */
  readonly uid?: number
  /** Another installation than this one. */
  readonly program?: string
  /** As the leader of a process group, which can be sent a signal as systemd and terminals send it: to all its processes. */
  readonly detached?: boolean
  /** How many files the process may have open. */
  readonly openFiles?: number
}

/** Runs a command and waits for its end. */
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
  /** Resolves with the exit status; null if a signal ended the process. */
  readonly ended: Promise<number | null>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

/** Starts `serve` on a free port and waits until it listens. */
export function serveProcess(args: readonly string[], options: RunOptions = {}): Promise<RunningProcess> {
  const delay = args.includes('--stop-delay') ? [] : ['--stop-delay', '0']
  const quiet = [...delay, '--log-format', 'json', '--log-level', 'info', '--demo-market=false']
  // The port of the demonstration is one for the whole machine. Other installations may not know the setting.
  const isOff = options.program === undefined && args.includes('--demo') && !args.includes('--wire-port')
  return servePlainly([...quiet, ...(isOff ? ['--wire-port', 'off'] : []), ...args], options)
}

/** The same, with no other flags than these. */
export async function servePlainly(args: readonly string[], options: RunOptions = {}): Promise<RunningProcess> {
  const { child, output, ended } = launchGatehouse(['serve', '--port', '0', ...args], options)
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

/** Starts a command; the caller handles its input and output. */
export function launchGatehouse(
  args: readonly string[],
  { environment = {}, cwd, uid, program = PROGRAM, detached = false, openFiles }: RunOptions = {},
) {
  const words = [process.execPath, program, ...args]
  const limited = ['sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh', ...words]
  const [command = '', ...rest] = openFiles === undefined ? words : limited
  const child = spawn(command, rest, {
    ...(cwd === undefined ? {} : { cwd }),
    ...(uid === undefined ? {} : { uid, gid: uid }),
    detached,
    env: { ...withoutOurs(process.env), ...environment },
  })
  let stdout = ''
  let stderr = ''
  // Only what a server logs: a command may print a new secret.
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

/** Keeps the GATEHOUSE_ settings of the environment out of the tests. */
export function withoutOurs(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
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
