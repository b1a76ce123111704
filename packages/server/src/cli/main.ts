/** The entry point of the program: finds the command, runs it, and reports foreseen failures in one line. */
import { inspect } from 'node:util'
import { nearest } from 'gatehouse-protocol'
import { parseArguments } from './args.ts'
import { type Command, helpPage } from './command.ts'
import { COMMANDS } from './commands.ts'
import { UsageError } from './errors.ts'
import { explain } from './explain.ts'
import { printableLines } from './output/table.ts'
import { programName } from './program.ts'

export async function main(args: readonly string[]): Promise<void> {
  // A reader that closes the pipe early is no failure: the command finishes its work.
  process.stdout.on('error', (error) => {
    if (!isClosedPipe(error)) throw error
  })
  try {
    await run(args)
  } catch (error) {
    if (isClosedPipe(error)) return
    const text = explain(error)
    // Texts of servers, files and databases may contain control characters.
    process.stderr.write(printableLines(text === undefined ? `${inspect(error)}\n` : `gatehouse: ${text}\n`))
    // After a bug, the state of the process is unknown.
    if (text === undefined) process.exit(1)
    process.exitCode = error instanceof UsageError ? 2 : 1
  }
}

async function run(args: readonly string[]): Promise<void> {
  const words = args[0] === 'help' ? args.slice(1) : args
  if (words[0] === undefined || isHelpFlag(words[0])) return printOverview(COMMANDS)
  if (words[0] === '--version') {
    const { describeVersion } = await import('./version.ts')
    return void process.stdout.write(describeVersion())
  }
  const found = findCommand(words)
  if (found === undefined) {
    const group = COMMANDS.filter(({ name }) => name.startsWith(`${words[0]} `))
    if (group.length > 0 && (words[1] === undefined || isHelpFlag(words[1]))) return printOverview(group)
    throw unknownCommand(words, group)
  }
  const { command, rest } = found
  if (args[0] === 'help' || rest.some(isHelpFlag)) return void process.stdout.write(helpPage(command))
  const parsed = parseArguments(command, rest)
  await (await command.load())(parsed)
}

/** The longer name first: `user add` before `user`. */
function findCommand(words: readonly string[]): { command: Command; rest: readonly string[] } | undefined {
  for (const count of [2, 1]) {
    const name = words.slice(0, count).join(' ')
    const command = COMMANDS.find((candidate) => candidate.name === name)
    if (command !== undefined) return { command, rest: words.slice(count) }
  }
  return undefined
}

function unknownCommand(words: readonly string[], group: readonly Command[]): UsageError {
  const written = words.slice(0, group.length > 0 ? 2 : 1).join(' ')
  const candidates = (group.length > 0 ? group : COMMANDS).map(({ name }) => name)
  const near = nearest(written, candidates)
  const suggestion = near === undefined ? '.' : `; did you mean "${near}"?`
  return new UsageError(`Unknown command "${written}"${suggestion} See "${programName()} help".`)
}

function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}

function isHelpFlag(word: string): boolean {
  return word === '--help' || word === '-h'
}

function printOverview(commands: readonly Command[]): void {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  process.stdout.write(
    `Usage: gatehouse COMMAND [OPTIONS]\n\n${lines.join('\n')}\n\nRun "gatehouse COMMAND --help" for details, and "gatehouse --version" for what this program is made of.\n`,
  )
}
