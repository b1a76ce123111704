/** The statements that were run in this browser, latest first. */
import { signal } from '@preact/signals'
import { user } from '../../gate.ts'
import { readStored, writeStored } from './storage.ts'

export interface HistoryEntry {
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly ok: boolean
  readonly rows: number | undefined
  readonly milliseconds: number
}

const MOST = 200
const LONGEST = 8192

export const history = signal<readonly HistoryEntry[]>([])

export function startHistory(): void {
  history.value = readStored<readonly HistoryEntry[]>(key())?.filter(({ text }) => typeof text === 'string') ?? []
}

/** A statement that is run again moves to the top. */
export function addToHistory(entry: HistoryEntry): void {
  if (entry.text.length > LONGEST) return
  history.value = [entry, ...history.value.filter(({ text }) => text !== entry.text)].slice(0, MOST)
  writeStored(key(), history.value)
}

export function clearHistory(): void {
  history.value = []
  writeStored(key(), [])
}

function key(): string {
  return `history.${user.peek()?.sub ?? ''}`
}
