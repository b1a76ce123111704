/** The statement and the parameters that a command was given. */
import { text } from 'node:stream/consumers'
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { requireFreeStdin } from '../sign-in/sign-in.ts'

/** The first argument; without it, or with `-`, stdin. */
export async function readStatement(args: Arguments): Promise<string> {
  const [argument] = args.positionals
  if (argument !== undefined && argument !== '-') return argument
  requireFreeStdin(args, 'the statement')
  if (process.stdin.isTTY) throw new UsageError('Give a statement in quotes, or pipe one in')
  const statement = await text(process.stdin)
  if (statement.trim() === '') throw new UsageError('The statement is empty')
  return statement
}

/** The values of --parameter; `:name` and `$1` may be written with their sign. */
export function readParameters(args: Arguments): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const [written, value] of args.pairs('--parameter')) {
    const name = written.replace(/^[:$]/, '')
    if (parameters.has(name)) throw new UsageError(`--parameter ${name} is given twice`)
    parameters.set(name, value)
  }
  return parameters
}
