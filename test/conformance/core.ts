/** Runs the modules of part A on a provider: every module with every response type it is for, in both plans. */
import { describe, test } from 'node:test'
import { type Provider, RESPONSE_TYPES } from '../support/providers/provider.ts'
import type { RelyingParty } from '../support/relying-party.ts'
import { abuseRows } from './abuse-rows.ts'
import { answerRows } from './answer-rows.ts'
import { bearerRows } from './bearer-rows.ts'
import { browserRows } from './browser-rows.ts'
import { codeRows } from './code-rows.ts'
import { configModules } from './config-modules.ts'
import { deviceRows } from './device-rows.ts'
import { documentRows } from './document-rows.ts'
import { flowModules } from './flow-modules.ts'
import { idTokenRows } from './id-token-rows.ts'
import { jwtRows } from './jwt-rows.ts'
import { logoutModules } from './logout-modules.ts'
import { parameterRows } from './parameter-rows.ts'
import { redirectRows } from './redirect-rows.ts'
import { registrationModules } from './registration-modules.ts'
import { requestModules } from './request-modules.ts'
import { createTrial } from './trial.ts'

const coreModules = [...flowModules, ...requestModules]

export const moduleIds: readonly string[] = [
  ...coreModules,
  ...configModules,
  ...logoutModules,
  ...registrationModules,
].map(({ id }) => id)

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

/** The rows of parts B and C; on a certified provider those that it must pass too. */
export function testRows(provider: () => Provider, certified: boolean): void {
  for (const { id, name, run } of certified ? rows.filter(({ ours }) => ours !== true) : rows)
    test(`${id}: ${name}`, async () => void (await run(createTrial(provider(), 'C', false))))
}

export interface ModuleOptions {
  readonly provider: () => Provider
  readonly relyingParty: () => RelyingParty
  /** Whether to repeat them by form_post: the same but for the last page. */
  readonly formPost: boolean
}

export function testModules({ provider, relyingParty, formPost: repeat }: ModuleOptions): void {
  for (const { id, run } of configModules) trial(id, id, () => run(provider()))
  for (const { id, types, formPost, run } of coreModules) {
    describe(id, () => {
      for (const type of types) {
        trial(id, `${id} [${RESPONSE_TYPES[type]}]`, () => run(createTrial(provider(), type, false)))
        if (repeat && formPost !== false)
          trial(id, `${id} [${RESPONSE_TYPES[type]}, form_post]`, () => run(createTrial(provider(), type, true)))
      }
    })
  }
  for (const { id, run } of [...logoutModules, ...registrationModules])
    trial(id, id, () => run(createTrial(provider(), 'C', false), relyingParty()))

  function trial(id: string, name: string, run: () => Promise<unknown>): void {
    test(name, async (t) => {
      const lacking = provider().lacks(id)
      if (lacking !== undefined) return t.skip(lacking)
      await run()
    })
  }
}
