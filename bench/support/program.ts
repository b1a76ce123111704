/** A program under measurement: started on a port, asked until it answers, ended by its own process id. */
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { useOfTree } from './process-tree.ts'

export interface Program {
  readonly port: number
  /** Processor time of the program and its children so far. */
  cpuMs(): number
  stop(): Promise<void>
}

const PATIENCE_MS = 20_000

/** `file` is relative to bench/; it is told the port as its first argument unless the arguments name it. */
export async function startProgram(
  file: string,
  port: number,
  args: readonly string[] = [String(port)],
  path = '/',
): Promise<Program> {
  const script = fileURLToPath(new URL(`../${file}`, import.meta.url))
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'ignore', 'inherit'] })
  await answers(port, path, child)
  return {
    port,
    cpuMs: () => useOfTree(child.pid ?? 0).cpuMs,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      if (child.exitCode === null && child.kill('SIGTERM')) await ended
    },
  }
}

async function answers(port: number, path: string, child: ChildProcess): Promise<void> {
  const limit = performance.now() + PATIENCE_MS
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
    await response?.arrayBuffer()
    if (response !== undefined) return
    if (performance.now() > limit || child.exitCode !== null) throw new Error(`Nothing answers on port ${port}`)
    await sleep(10)
  }
}
