/** Runs the modules of the certification plans on a provider, each with all of its response types. */
import { describe, test } from 'node:test'
import { type Provider, RESPONSE_TYPES } from '../support/providers/provider.ts'
import type { RelyingParty } from '../support/relying-party.ts'
import { configModules } from './config-modules.ts'
import { flowModules } from './flow-modules.ts'
import { logoutModules } from './logout-modules.ts'
import { registrationModules } from './registration-modules.ts'
import { requestModules } from './request-modules.ts'
import { createTrial } from './trial.ts'

export interface ModuleOptions {
  readonly provider: () => Provider
  readonly relyingParty: () => RelyingParty
  /** Whether to repeat the modules with response_mode=form_post. */
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
      const reason = provider().lacks(id)
      if (reason !== undefined) return t.skip(reason)
      await run()
    })
  }
}

const coreModules = [...flowModules, ...requestModules]

export const moduleIds: readonly string[] = [
  ...coreModules,
  ...configModules,
  ...logoutModules,
  ...registrationModules,
].map(({ id }) => id)
