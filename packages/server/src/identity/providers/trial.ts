/** The page of a trial sign-in: the claims that came, and what the definition makes of them. Nothing is changed. */
import { type BrowserContext, isSignedIn } from '../browser/browser-context.ts'
import { frameFor, sendPage } from '../browser/page-reply.ts'
import { trialPage } from '../pages/identities.ts'
import { applyRules, checkAllowed } from './claims.ts'
import type { Proof } from './connector.ts'
import type { ProvidersEnv } from './env.ts'
import { isProviderFault, providerFault } from './faults.ts'
import { findPerson, type Person } from './person.ts'
import { readValues } from './settle.ts'

export async function showTrial(
  context: BrowserContext,
  proof: Proof,
  session: string,
  env: ProvidersEnv,
): Promise<void> {
  const isOperator = isSignedIn(context) && context.session.id === session && context.user.rights.has('Identity/Admin')
  if (!isOperator) throw providerFault('provider.state', 'The session that wanted a trial has ended')
  const { roles, attributes } = applyRules(proof.provider, proof.claims)
  const outcome = await tryOutcome(proof, env)
  const page = trialPage(frameFor(env.pages, context), {
    id: proof.provider.id,
    provider: proof.provider.name,
    outcome,
    roles,
    attributes: [...attributes].map(([name, values]) => ({
      name,
      values: readValues(env.attributes.definitions.get(name), values).map(String),
    })),
    isMultiFactor: proof.isMultiFactor,
    claims: JSON.stringify(proof.claims, undefined, 2),
  })
  sendPage(context.http, page)
}

type Outcome = { readonly username: string; readonly isNew: boolean } | { readonly code: string }

async function tryOutcome(proof: Proof, env: ProvidersEnv): Promise<Outcome> {
  try {
    checkAllowed(proof)
    return describe(await findPerson(proof, undefined, env), env)
  } catch (error) {
    if (isProviderFault(error)) return { code: error.code }
    throw error
  }
}

async function describe(person: Person, env: ProvidersEnv): Promise<Outcome> {
  switch (person.kind) {
    case 'known':
    case 'linked-now':
    case 'invited':
      return { username: person.user.username, isNew: false }
    case 'new':
      if ((await env.users.findByUsername(person.username)) !== undefined) return { code: 'identity.name_taken' }
      return { username: person.username, isNew: true }
    case 'unknown':
      return { code: 'identity.not_linked' }
  }
}
