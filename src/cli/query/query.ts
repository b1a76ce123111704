/** `gatehouse query`: runs one statement, the statements of a pipe, or a shell in a terminal. */
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { connectToQuery } from './connection.ts'
import { readParameters } from './input.ts'
import { copyToStdout, type Format, runForFormat, runForTable, showResult, summarise } from './result.ts'

export async function query(args: Arguments): Promise<void> {
  if (args.has('--live')) return (await import('./live/live.ts')).liveQuery(args)
  if (args.has('--max-rate')) throw new UsageError('--max-rate needs --live')
  if (args.has('--json') && args.has('--csv')) throw new UsageError('Give --json or --csv, not both')
  const format: Format = args.has('--json') ? 'json' : args.has('--csv') ? 'csv' : 'table'
  const parameters = readParameters(args)
  const [statement] = args.positionals
  if (statement === undefined && process.stdin.isTTY && process.stdout.isTTY) {
    const { runShell } = await import('./shell/shell.ts')
    return runShell(await connectToQuery(args), { parameters, format })
  }
  if (statement === undefined || statement === '-') {
    const { readScript, runScript } = await import('./shell/script.ts')
    const script = await readScript(parameters)
    return runScript(await connectToQuery(args), script, { parameters, format })
  }
  const connection = await connectToQuery(args)
  if (format !== 'table') return copyToStdout(await runForFormat(connection, statement, { parameters, format }))
  const result = await runForTable(connection, statement, { parameters })
  process.stdout.write(showResult(result))
  process.stderr.write(`${summarise(result)}\n`)
}
