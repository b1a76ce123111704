/** `gatehouse query`: runs one statement, the statements of a pipe, or a shell in a terminal. */
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { type Gate, withGate } from '../gate.ts'
import { requireFreeStdin } from '../sign-in/sign-in.ts'
import { readParameters } from './input.ts'
import { noteLicenceHeader } from './licence-notes.ts'
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
    return withGate(args, (gate) => runShell(gate, { parameters, format }))
  }
  if (statement === undefined || statement === '-') {
    requireFreeStdin(args, 'the statements')
    const { readScript, runScript } = await import('./shell/script.ts')
    const script = await readScript(parameters)
    return withGate(args, (gate) => runScript(gate, script, { parameters, format }))
  }
  await withGate(args, (gate) => run(gate, statement, parameters, format))
}

async function run(
  gate: Gate,
  statement: string,
  parameters: ReadonlyMap<string, string>,
  format: Format,
): Promise<void> {
  if (format !== 'table') {
    const response = await runForFormat(gate, statement, { parameters, format })
    if (format === 'csv') noteLicenceHeader(response)
    return copyToStdout(response)
  }
  const result = await runForTable(gate, statement, { parameters })
  process.stdout.write(showResult(result))
  process.stderr.write(`${summarise(result)}\n`)
}
