/** Asks at a terminal before something is destroyed. */
import { createInterface } from 'node:readline/promises'
import { CommandError, UsageError } from './errors.ts'

/** Throws unless the answer is yes. Without a terminal, `--yes` is needed. */
export async function askFirst(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError(`${question} Confirm with --yes.`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${question} [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('Nothing was changed')
}
