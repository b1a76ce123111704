/** The statements of a pipe: each is run in order, and the first failure ends the script. */
import { text } from 'node:stream/consumers'
import { UsageError } from '../../errors.ts'
import type { Gate } from '../../gate.ts'
import { programName } from '../../program.ts'
import { copyToStdout } from '../result.ts'
import { type Input, InputBuffer } from './input-buffer.ts'
import { parameterNames, type ShellOptions, type ShellScreen, ShellSession } from './session.ts'

/** Reads stdin to its end. Nothing runs if a parameter is not used, which may be misspelled. */
export async function readScript(parameters: ReadonlyMap<string, string>): Promise<readonly Input[]> {
  const buffer = new InputBuffer()
  const lines = (await text(process.stdin)).split(/\r?\n/)
  const inputs = [...lines.flatMap((line) => buffer.push(line)), ...buffer.end()]
  if (inputs.length === 0) throw new UsageError('The input contains no statement')
  const names = inputs.filter(({ kind }) => kind === 'statement').map((input) => parameterNames(input.text))
  for (const name of parameters.keys())
    if (names.every((used) => used !== undefined && !used.has(name)))
      throw new UsageError(`--parameter ${name} is not used in any statement`)
  return inputs
}

export async function runScript(gate: Gate, inputs: readonly Input[], options: ShellOptions): Promise<void> {
  const session = new ShellSession(gate, SCREEN, options)
  const { signal } = new AbortController()
  for (const input of inputs) if (!(await session.execute(input, signal))) return
}

const SCREEN: ShellScreen = {
  async show(shown) {
    process.stdout.write(shown)
  },
  copy: copyToStdout,
  say: (remark) => void process.stderr.write(`${remark}\n`),
  live() {
    throw new UsageError(`\\live needs a terminal; in a pipe use "${programName()} query --live"`)
  },
}
