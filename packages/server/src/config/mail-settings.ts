/** Settings of e-mail. Without `mail_url` nothing is sent. */
import { isLoopback } from 'gatehouse-protocol'
import { isMailAddress } from '../lib/mail-address.ts'
import { BadSetting, parseInteger, parseText } from './parsers.ts'
import { type Settings, setting } from './setting.ts'

export interface MailServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte; otherwise STARTTLS, which only a server on this machine may lack. */
  readonly isTls: boolean
  readonly isLoopback: boolean
  /** Empty to send without authentication. */
  readonly user: string
}

export interface MailSender {
  readonly name: string
  readonly address: string
}

export const MAIL_SETTINGS = {
  mailUrl: setting(
    '',
    parseMailUrl,
    'Mail server: smtps://user@host (TLS), or smtp://user@host (STARTTLS, which only a server on loopback may lack), with :port if it is not 465 or 587. Empty: no mail is sent.',
  ),
  mailPassword: setting('', parseText, 'Password of the user in mail_url.', 'secret'),
  mailFrom: setting(
    '',
    parseMailFrom,
    'Sender of all mail: gate@example.com, or with a name: Example Gate <gate@example.com>. Required with mail_url.',
  ),
  mailRate: setting('60', parseMailRate, 'Mails that all nodes together send in a minute; others wait.'),
  mailTemplates: setting(
    '',
    parseText,
    'Folder with texts of mails, by kind and language, such as invitation.en.txt. Empty: the built-in ones.',
  ),
} as const satisfies Settings

/** Undefined where no mail is sent. */
export function parseMailUrl(text: string): MailServer | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === '')
    throw new BadSetting('it must look like smtps://user@mail.example.com or smtp://user@mail.example.com:587')
  // A URL is shown and logged with the setting.
  if (url.password !== '') throw new BadSetting('it must not contain a password: set GATEHOUSE_MAIL_PASSWORD')
  if (!['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '')
    throw new BadSetting('nothing may follow the host and port')
  const isTls = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return {
    host,
    port: url.port === '' ? (isTls ? 465 : 587) : Number(url.port),
    isTls,
    isLoopback: isLoopback(host),
    user: decoded(url.username),
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new BadSetting('the user must be percent-encoded')
  }
}

/** Undefined where it is not set. */
export function parseMailFrom(text: string): MailSender | undefined {
  if (text === '') return undefined
  const [, name = '', address = text] = /^([^<>]*)<([^<>]*)>$/.exec(text) ?? []
  if (!isMailAddress(address)) throw new BadSetting('it must look like gate@example.com or Gate <gate@example.com>')
  const plain = name.trim().replace(/^"([^"\\]*)"$/, '$1')
  if (/[\p{Cc}"\\]/u.test(plain) || plain.length > 100)
    throw new BadSetting('the name must have at most 100 characters, without quotes and backslashes')
  return { name: plain, address }
}

function parseMailRate(text: string): number {
  const rate = parseInteger(text)
  if (rate < 1 || rate > 100_000) throw new BadSetting(`${text} is not from 1 to 100000`)
  return rate
}
