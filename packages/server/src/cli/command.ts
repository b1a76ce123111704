/** What a command is, and how its help is written. */
import { type Arguments, formatUsage, type Syntax } from './args.ts'

export interface Command extends Syntax {
  readonly summary: string
  /** Paragraphs of the help, between the summary and the options. */
  readonly notes?: string
  /** Without the program's name. */
  readonly examples: readonly string[]
  /** Imports the command when it is called, so that `serve` loads no other. */
  load(): Promise<(args: Arguments) => Promise<void>>
}

/** Everything below the summary: notes, options, examples. */
export function formatHelp({ notes, options = {}, examples }: Command): string {
  const rows = Object.entries(options).map(([name, { short, value, help }]) => [
    `${short === undefined ? '' : `-${short}, `}${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  ])
  const width = Math.max(...rows.map(([left = '']) => left.length))
  const parts = [
    notes === undefined ? [] : [notes.trim()],
    rows.map(([left = '', help]) => `  ${left.padEnd(width)}  ${help}`),
    examples.map((example) => `  gatehouse ${example}`),
  ]
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `\n${lines.join('\n')}\n`)
    .join('')
}

export function helpPage(command: Command): string {
  return `Usage: gatehouse ${formatUsage(command)}\n\n${command.summary}\n${formatHelp(command)}`
}
