/** Runs the protocol and security rows of the checklist on a provider. */
import { test } from 'node:test'
import type { Provider } from '../support/providers/provider.ts'
import { abuseRows } from './abuse-rows.ts'
import { answerRows } from './answer-rows.ts'
import { bearerRows } from './bearer-rows.ts'
import { browserRows } from './browser-rows.ts'
import { codeRows } from './code-rows.ts'
import { deviceRows } from './device-rows.ts'
import { documentRows } from './document-rows.ts'
import { idTokenRows } from './id-token-rows.ts'
import { jwtRows } from './jwt-rows.ts'
import { parameterRows } from './parameter-rows.ts'
import { redirectRows } from './redirect-rows.ts'
import { createTrial } from './trial.ts'

/** On a certified provider, only the rows that apply to every provider. */
export function testChecklist(provider: () => Provider, certified: boolean): void {
  for (const { id, name, run } of certified ? rows.filter(({ ours }) => ours !== true) : rows)
    test(`${id}: ${name}`, async () => void (await run(createTrial(provider(), 'C', false))))
}

const rows = [
  ...answerRows,
  ...idTokenRows,
  ...codeRows,
  ...parameterRows,
  ...documentRows,
  ...browserRows,
  ...redirectRows,
  ...jwtRows,
  ...abuseRows,
  ...bearerRows,
  ...deviceRows,
]

export const rowIds: readonly string[] = rows.map(({ id }) => id)
