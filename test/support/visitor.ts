/** A person at the provider's pages: signs in, agrees, confirms; and remembers which pages were shown. */
import type { Button, Form } from './html-form.ts'
import type { Departure, Page, UserAgent } from './user-agent.ts'

export interface Credentials {
  readonly username: string
  readonly password: string
}

export interface BrowserContext {
  readonly end: Page | Departure
  /** The pages on the way, as a person would name them. */
  readonly seen: readonly PageName[]
}

export type PageName = 'sign-in' | 'question' | 'statement'

const MOST_PAGES = 8
const REFUSING = /deny|denied|cancel|reject|refuse|abort|^no\b|stay|different|another|switch/i

/** Answers page after page until the provider lets go of the browser or has nothing more to ask. */
export async function visit(
  agent: UserAgent,
  start: Page | Departure,
  credentials: Credentials,
  answer: 'agree' | 'refuse' = 'agree',
): Promise<BrowserContext> {
  const seen: PageName[] = []
  let at = start
  for (let count = 0; count < MOST_PAGES; count++) {
    if (at.kind === 'left') return { end: at, seen }
    const name = readName(at)
    seen.push(name)
    if (name === 'statement') return { end: at, seen }
    at = name === 'sign-in' ? await signIn(agent, at, credentials) : await reply(agent, at, answer)
  }
  throw new Error(`The provider asked ${MOST_PAGES} times: ${seen.join(', ')}`)
}

export function readName(page: Page): PageName {
  if (signInForm(page) !== undefined) return 'sign-in'
  return page.status === 200 && questionForm(page) !== undefined ? 'question' : 'statement'
}

export function signIn(agent: UserAgent, page: Page, credentials: Credentials): Promise<Page | Departure> {
  const form = signInForm(page)
  if (form === undefined) throw new Error(`No sign-in form at ${page.url.href}: ${page.status} ${page.body}`)
  const filled: Record<string, string> = {}
  for (const { name, type } of form.fields) {
    if (type === 'password') filled[name] = credentials.password
    else if (type === 'text' || type === 'email') filled[name] = credentials.username
  }
  return agent.submit(form, filled)
}

/** Presses the button that agrees, or the one that refuses. */
export function reply(agent: UserAgent, page: Page, answer: 'agree' | 'refuse'): Promise<Page | Departure> {
  const form = questionForm(page)
  const pressed = form?.buttons.find((button) => isRefusing(button) === (answer === 'refuse'))
  if (form === undefined || (answer === 'refuse' && pressed === undefined))
    throw new Error(`Nothing to ${answer} at ${page.url.href}: ${page.body}`)
  return agent.submit(form, {}, pressed)
}

function isRefusing({ name, value, label }: Button): boolean {
  return REFUSING.test(value) || REFUSING.test(label) || REFUSING.test(name ?? '')
}

export function signInForm(page: Page): Form | undefined {
  // A form that changes a password has more than one field for it.
  return page.forms.find(({ fields }) => fields.filter(({ type }) => type === 'password').length === 1)
}

function questionForm(page: Page): Form | undefined {
  return page.forms.find(({ method, buttons }) => method === 'POST' && buttons.length > 0)
}
