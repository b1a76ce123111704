/** The command line: finds the command, turns every foreseeable failure into one line that says what to do. */

import { nearest } from '../protocol/nearest.ts'
import { VERSION } from '../protocol/version.ts'
import { BadSetting } from '../setting-parsers.ts'
import { type Command, Usage } from './command.ts'
import { COMMANDS } from './commands.ts'

export async function main(args: readonly string[]): Promise<void> {
  // Who reads no further has seen enough: what was begun is still finished, and recorded.
  process.stdout.on('error', (error) => {
    if (!isClosedPipe(error)) throw error
  })
  try {
    await run(args)
  } catch (error) {
    if (isClosedPipe(error)) return
    const line = explain(error)
    if (line === undefined) throw error
    process.stderr.write(`gatehouse: ${line}\n`)
    process.exitCode = error instanceof Usage ? 2 : 1
  }
}

async function run(args: readonly string[]): Promise<void> {
  const words = args[0] === 'help' ? args.slice(1) : args
  if (words[0] === undefined || isHelpFlag(words[0])) return printOverview(COMMANDS)
  if (words[0] === '--version') return void process.stdout.write(`${VERSION}\n`)
  const found = findCommand(words)
  if (found === undefined) {
    const group = COMMANDS.filter(({ name }) => name.startsWith(`${words[0]} `))
    if (group.length > 0 && (words[1] === undefined || isHelpFlag(words[1]))) return printOverview(group)
    throw unknownCommand(words, group)
  }
  const { command, rest } = found
  if (args[0] === 'help' || rest.some(isHelpFlag)) return printHelp(command)
  const perform = await command.load()
  await perform(rest)
}

/** Two words before one: `user add` is a command, `serve anything` is not. */
function findCommand(words: readonly string[]): { command: Command; rest: readonly string[] } | undefined {
  for (const count of [2, 1]) {
    const name = words.slice(0, count).join(' ')
    const command = COMMANDS.find((candidate) => candidate.name === name)
    if (command !== undefined) return { command, rest: words.slice(count) }
  }
  return undefined
}

function unknownCommand(words: readonly string[], group: readonly Command[]): Usage {
  const written = words.slice(0, group.length > 0 ? 2 : 1).join(' ')
  const near = nearest(
    written,
    (group.length > 0 ? group : COMMANDS).map(({ name }) => name),
  )
  return new Usage(
    `Unknown command "${written}"${near === undefined ? '' : `; did you mean "${near}"?`} See "gatehouse help".`,
  )
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
    `Usage: gatehouse COMMAND [OPTIONS]\n\n${lines.join('\n')}\n\n"gatehouse COMMAND --help" says more.\n`,
  )
}

function printHelp({ name, usage, summary, help }: Command): void {
  process.stdout.write(`Usage: gatehouse ${`${name} ${usage}`.trim()}\n\n${summary}\n${help}`)
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
  if (typeof code === 'string' && code in DATABASE_TROUBLE)
    return `${DATABASE_TROUBLE[code]} (${error.message || code}): mend it, or GATEHOUSE_DATABASE_URL.`
  if (typeof code === 'string' && code in FILE_TROUBLE && 'path' in error)
    return `${FILE_TROUBLE[code]}: ${'dest' in error ? error.dest : error.path}`
  if (code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT')
    return `A database in the data folder is damaged (${error.message}): restore the folder from a backup.`
  return undefined
}

/** Of the file system, where no part has words of its own for it. */
const FILE_TROUBLE: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file or folder',
  EACCES: 'This user may not read or write',
  EPERM: 'This user may not change',
  EROFS: 'Nothing can be written here',
  ENOTDIR: 'This is no folder',
  EEXIST: 'This is there already',
  ENOSPC: 'The disk is full',
}

/** Of the socket, and of PostgreSQL by SQLSTATE. */
const DATABASE_TROUBLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing answers at the database address',
  ENOTFOUND: 'The host of the database is not known',
  ETIMEDOUT: 'The database does not answer',
  '28P01': 'The database does not take this user and password',
  '28000': 'The database does not let this user in',
  '3D000': 'The database server has no such database',
  '42501': 'This user may not do in the database what must be done',
}

const FORESEEN = new Set([
  'BadDataFolder',
  'SchemaTooNew',
  'BadDeclaration',
  'BadBackup',
  'Refusal',
  'UsernameTaken',
  'WrongMasterKey',
  'QueryRefused',
  'Unreachable',
  'UnfitDatabase',
])
