/** What the command palette offers: the commands of the shell, and those of the area that is open. */
import { computed, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { IconName } from '../ui/index.ts'

export interface Command {
  readonly id: string
  readonly title: string
  /** The heading under which it is listed, such as the name of the area. */
  readonly group: string
  readonly icon?: IconName
  /** What it is, shown behind the title. */
  readonly about?: string | undefined
  /** Other words by which it is found. */
  readonly words?: string
  /** Keys that run it, shown next to it: `Mod Enter`. The area listens for them itself. */
  readonly keys?: string
  readonly act: () => void
}

const sources = signal<readonly (() => readonly Command[])[]>([])

/** All commands, the most recently added first. */
export const commands = computed(() => sources.value.flatMap((source) => source()))

/** Adds commands; the function that it returns removes them. `source` may read signals. */
export function addCommands(source: () => readonly Command[]): () => void {
  sources.value = [source, ...sources.value]
  return () => {
    sources.value = sources.value.filter((other) => other !== source)
  }
}

/** Commands for as long as a component is shown; `inputs` are what they depend on. */
export function useCommands(source: () => readonly Command[], inputs: readonly unknown[] = []): void {
  useEffect(() => addCommands(source), inputs)
}

/** The commands that contain every word that was typed, best first. */
export function findCommands(all: readonly Command[], text: string): readonly Command[] {
  const wanted = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  if (wanted.length === 0) return all
  const ranked = all.flatMap((command) => {
    const title = command.title.toLowerCase()
    const other = `${command.group} ${command.words ?? ''}`.toLowerCase()
    if (!wanted.every((word) => title.includes(word) || other.includes(word))) return []
    const rank = wanted.reduce((sum, word) => sum + (startsWord(title, word) ? 2 : title.includes(word) ? 1 : 0), 0)
    return [{ command, rank }]
  })
  return ranked.sort((a, b) => b.rank - a.rank).map(({ command }) => command)
}

function startsWord(text: string, word: string): boolean {
  return text.startsWith(word) || text.includes(` ${word}`)
}
