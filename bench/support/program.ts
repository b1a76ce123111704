/** Programs under measurement: launched, polled until they are ready, and stopped by their process id. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type TreeUse, useOfTree } from './process-tree.ts'
import { onProcessor } from './processors.ts'

export interface Program {
  readonly pid: number
  /** CPU time and memory of the process and its children. */
  use(): TreeUse
  stop(): Promise<void>
}

export interface LaunchOptions {
  /** Polled until it answers with a status below 500. */
  readonly readyAt?: string
  /** How long to wait; two minutes by default. */
  readonly readyMs?: number
  /** The only processor that the program may use, with all its threads and children. */
  readonly processor?: number | undefined
  readonly environment?: Readonly<Record<string, string>>
  /** Discards the program's log. */
  readonly quiet?: boolean
}

const READY_TIMEOUT_MS = 120_000
/** Two runs at the same time have different ports. */
let nextPort = 15_500 + (process.pid % 100) * 40

export function newPort(): number {
  return nextPort++
}

export async function launch(
  program: string,
  args: readonly string[],
  { readyAt, readyMs = READY_TIMEOUT_MS, processor, environment, quiet = false }: LaunchOptions = {},
): Promise<Program> {
  const [command = '', ...rest] = processor === undefined ? [program, ...args] : onProcessor(processor, program, args)
  const child = spawn(command, rest, {
    stdio: ['ignore', 'ignore', quiet ? 'ignore' : 'inherit'],
    env: { ...process.env, ...environment },
  })
  if (readyAt !== undefined) await ready(readyAt, child, readyMs)
  return { pid: child.pid ?? 0, use: () => useOfTree(child.pid ?? 0), stop: () => stop(child) }
}

/** A peer of bench/peers, which takes its port as the first argument. */
export function launchPeer(
  file: string,
  port: number,
  args: readonly string[] = [],
  options: LaunchOptions & { readonly path?: string } = {},
): Promise<Program> {
  const readyAt = `http://127.0.0.1:${port}${options.path ?? '/'}`
  return launch(process.execPath, [benchPath(`peers/${file}`), String(port), ...args], { ...options, readyAt })
}

export function benchPath(file: string): string {
  return fileURLToPath(new URL(`../${file}`, import.meta.url))
}

export async function temporaryFolder(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'gatehouse-bench-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

async function ready(address: string, child: ChildProcess, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const response = await fetch(address).catch(() => undefined)
    await response?.arrayBuffer()
    if (response !== undefined && response.status < 500) return
    if (performance.now() > deadline || child.exitCode !== null) {
      await stop(child)
      throw new Error(`${child.spawnargs.join(' ')} does not answer at ${address}`)
    }
    await sleep(20)
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once('exit', resolve))
  if (child.exitCode === null && child.kill('SIGTERM')) await exited
}
