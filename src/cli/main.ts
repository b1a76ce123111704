/** The command line: finds the command, turns every foreseeable failure into one line that says what to do. */
import { BadSetting } from '../config.ts'
import { nearest } from '../protocol/nearest.ts'
import { type Command, Usage } from './command.ts'
import { COMMANDS } from './commands.ts'

export async function main(args: readonly string[]): Promise<void> {
  try {
    await run(args)
  } catch (error) {
    const line = explain(error)
    if (line === undefined) throw error
    process.stderr.write(`gatehouse: ${line}\n`)
    process.exitCode = error instanceof Usage ? 2 : 1
  }
}

async function run(args: readonly string[]): Promise<void> {
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === '-h' || name === 'help')
    return printHelp(COMMANDS.find((command) => command.name === rest[0]))
  const command = COMMANDS.find((candidate) => candidate.name === name)
  if (command === undefined) {
    const near = nearest(
      name,
      COMMANDS.map((candidate) => candidate.name),
    )
    throw new Usage(
      `Unknown command "${name}"${near === undefined ? '' : `; did you mean "${near}"?`} See "gatehouse help".`,
    )
  }
  if (rest.includes('--help') || rest.includes('-h')) return printHelp(command)
  const load = await command.load()
  await load(rest)
}

function printHelp(command: Command | undefined): void {
  if (command === undefined) {
    const width = Math.max(...COMMANDS.map(({ name }) => name.length))
    const lines = COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
    process.stdout.write(
      `Usage: gatehouse COMMAND [OPTIONS]\n\n${lines.join('\n')}\n\n"gatehouse COMMAND --help" says more.\n`,
    )
    return
  }
  process.stdout.write(`Usage: gatehouse ${command.name} ${command.usage}\n\n${command.summary}\n${command.help}`)
}

/** The failures that a person can mend; the names are those of the errors that the parts throw. */
function explain(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof Usage || error instanceof BadSetting || FORESEEN.has(error.name)) return error.message
  const code = 'code' in error ? error.code : undefined
  const port = 'port' in error ? error.port : undefined
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use: stop what listens there, or choose another with GATEHOUSE_PORT.`
  if (code === 'EACCES' && port !== undefined)
    return `This user may not listen on port ${port}: choose one above 1023 with GATEHOUSE_PORT.`
  if (code === 'EADDRNOTAVAIL') return 'This machine does not have the address of GATEHOUSE_HOST.'
  if (code === 'ECONNREFUSED')
    return `Nothing answers at the database address (${error.message}): start it, or mend GATEHOUSE_DATABASE_URL.`
  return undefined
}

const FORESEEN = new Set(['BadDataFolder', 'SchemaTooNew', 'BadDeclaration', 'BadBackup'])
