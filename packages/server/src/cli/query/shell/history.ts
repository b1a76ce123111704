/** The history of the query shell: a file that only its owner can read, an entry per line, the newest last. */
import { appendFileSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

export const MAX_ENTRIES = 1000

export function historyFile(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment.XDG_STATE_HOME ?? join(homedir(), '.local', 'state')
  return join(base, 'gatehouse', 'query-history')
}

export class CommandHistory {
  readonly #file: string

  constructor(file = historyFile()) {
    this.#file = file
  }

  /** The newest first, as readline has it. A history that cannot be read is empty: the shell works without one. */
  read(): string[] {
    try {
      chmodSync(this.#file, 0o600)
      const entries = readFileSync(this.#file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
      const kept = entries.slice(-MAX_ENTRIES)
      if (entries.length > 2 * MAX_ENTRIES) writeFileSync(this.#file, `${kept.join('\n')}\n`, { mode: 0o600 })
      return kept.reverse()
    } catch {
      return []
    }
  }

  /** An entry is one line. */
  add(entry: string): void {
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 })
      appendFileSync(this.#file, `${entry}\n`, { mode: 0o600 })
    } catch {
      // As in read.
    }
  }
}
