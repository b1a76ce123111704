/** The commands of the query shell: what can be typed, and its help. */
import { nearest } from 'gatehouse-protocol'
import { UsageError } from '../../errors.ts'
import { FORMATS, type Format } from '../result.ts'

export type ShellCommand =
  | { readonly kind: 'tables' | 'quit' | 'help' }
  | { readonly kind: 'describe'; readonly table: string }
  /** Undefined turns it on where it is off, and off where it is on. */
  | { readonly kind: 'timing' | 'expanded'; readonly on: boolean | undefined }
  /** Undefined asks for the format in use. */
  | { readonly kind: 'format'; readonly format: Format | undefined }
  /** Undefined is the last statement. */
  | { readonly kind: 'live'; readonly statement: string | undefined }

interface Entry {
  readonly argument?: string
  readonly help: string
  read(argument: string | undefined): ShellCommand
}

const ENTRIES: ReadonlyMap<string, Entry> = new Map<string, Entry>(
  Object.entries({
    '\\d': {
      argument: '[TABLE]',
      help: 'lists the tables that you may read, or the columns of one',
      read: (table) => (table === undefined ? { kind: 'tables' } : { kind: 'describe', table }),
    },
    '\\timing': {
      argument: '[on|off]',
      help: 'shows how long each statement takes',
      read: (on) => ({ kind: 'timing', on: readSwitch('\\timing', on) }),
    },
    '\\x': {
      argument: '[on|off]',
      help: 'shows each row as a list of columns',
      read: (on) => ({ kind: 'expanded', on: readSwitch('\\x', on) }),
    },
    '\\format': {
      argument: `[${FORMATS.join('|')}]`,
      help: 'the format of results',
      read: (format) => ({ kind: 'format', format: readFormat(format) }),
    },
    '\\live': {
      argument: '[STATEMENT]',
      help: 'shows a result that updates itself, for this statement or else the last one; q ends it',
      read: (statement) => ({ kind: 'live', statement: statement?.replace(/;\s*$/, '') }),
    },
    '\\?': { help: 'shows this help', read: () => ({ kind: 'help' }) },
    '\\q': { help: 'quits, like exit, quit and Ctrl-D', read: () => ({ kind: 'quit' }) },
  } satisfies Record<string, Entry>),
)

export const COMMAND_WORDS: readonly string[] = [...ENTRIES.keys()]

export function parseCommand(text: string): ShellCommand {
  if (!text.startsWith('\\')) return { kind: 'quit' }
  const [, word = '', rest = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text.trim()) ?? []
  const entry = ENTRIES.get(word)
  if (entry === undefined) {
    const near = nearest(word, COMMAND_WORDS, 1)
    throw new UsageError(
      `Unknown command ${word}${near === undefined ? '.' : `; did you mean ${near}?`} \\? lists them.`,
    )
  }
  // A semicolon after a command is a habit.
  const argument = word === '\\live' ? rest.trim() : rest.replace(/;\s*$/, '').trim()
  if (argument !== '' && entry.argument === undefined) throw new UsageError(`${word} takes no argument`)
  return entry.read(argument === '' ? undefined : argument)
}

export function helpText(): string {
  const rows = [...ENTRIES].map(([word, { argument = '', help }]) => [`${word} ${argument}`.trim(), help])
  const width = Math.max(...rows.map(([left = '']) => left.length))
  const lines = rows.map(([left = '', help]) => `  ${left.padEnd(width)}  ${help}`)
  return `${lines.join('\n')}

A statement may have several lines and ends with a semicolon. Tab completes, the arrow keys recall earlier statements,
Ctrl-C cancels the running statement. A line that begins with a blank is not kept in the history.
`
}

function readSwitch(word: string, text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined
  if (text !== 'on' && text !== 'off') throw new UsageError(`${word} takes on or off, not "${text}"`)
  return text === 'on'
}

function readFormat(text: string | undefined): Format | undefined {
  const format = FORMATS.find((known) => known === text)
  if (text !== undefined && format === undefined)
    throw new UsageError(`\\format takes one of ${FORMATS.join(', ')}, not "${text}"`)
  return format
}
