/** The message of a mail: its text in the language of the recipient, with the values of the account and of what happened. */
import type { User } from '../store/accounts/user.ts'
import type { QueuedMail } from '../store/mail/mail-queue.ts'
import type { Payload } from './payload.ts'
import type { Ready } from './prepare.ts'
import { render, type Style } from './render.ts'
import type { Templates } from './templates.ts'
import type { Message } from './transport.ts'

export interface ComposeEnv {
  readonly templates: Templates
  readonly style: Style
  /** Whom people ask for help; empty: their administrator. */
  readonly contact: string
  readonly chooseName: (user: User) => string
  /** The name of a browser, from its User-Agent. */
  readonly describeBrowser: (userAgent: string) => string
}

interface Words {
  readonly administrator: string
  readonly byOperator: string
  readonly unknownBrowser: string
}

const WORDS = new Map<string, Words>([
  [
    'en',
    {
      administrator: 'your administrator',
      byOperator: 'By an administrator',
      unknownBrowser: 'Unknown browser',
    },
  ],
  [
    'de',
    {
      administrator: 'Ihre Administration',
      byOperator: 'Durch die Administration',
      unknownBrowser: 'Unbekannter Browser',
    },
  ],
])

export function compose(mail: QueuedMail, { to, user, payload, link }: Ready, env: ComposeEnv): Message {
  const { template, language } = env.templates.find(mail.kind, chooseLanguages(user, mail.language))
  const words = WORDS.get(language) ?? WORDS.get('en')
  const values = {
    brand: env.style.brand,
    contact: env.contact === '' ? (words?.administrator ?? '') : env.contact,
    username: user.username,
    name: env.chooseName(user),
    link: link ?? payload.url ?? '',
    expires: timeText(payload.linkExpiresAt ?? payload.endsAt ?? mail.expiresAt, language, user),
    time: timeText(mail.createdAt, language, user),
    origin: originText(payload, words, env),
    subject: payload.subject ?? '',
    text: payload.text ?? '',
  }
  return { to, id: mail.id, language, ...render(template, values, language, env.style) }
}

/** The language of the profile, then that of the page on which the mail was asked for. */
function chooseLanguages({ profile }: User, ofPage: string): string[] {
  const ofProfile = typeof profile.locale === 'string' ? profile.locale.toLowerCase().split('-', 1) : []
  return [...ofProfile, ...(ofPage === '' ? [] : [ofPage])]
}

function originText(
  { address, userAgent }: Payload,
  words: Words | undefined,
  { describeBrowser }: Pick<ComposeEnv, 'describeBrowser'>,
): string {
  if (address === undefined) return words?.byOperator ?? ''
  return `${describeBrowser(userAgent ?? '') || (words?.unknownBrowser ?? '')}, ${address}`
}

function timeText(at: number, language: string, { profile }: User): string {
  const format = (timeZone: string) =>
    // The order of an American date would mislead all others.
    new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
      ...{ year: 'numeric', month: 'long', day: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
      timeZone,
    }).format(at)
  try {
    return format(typeof profile.zoneinfo === 'string' && profile.zoneinfo !== '' ? profile.zoneinfo : 'UTC')
  } catch {
    return format('UTC')
  }
}
