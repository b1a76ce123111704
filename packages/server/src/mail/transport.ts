/** The mail server (RFC 5321), through nodemailer: TLS before anything else is said, addresses as objects that we have checked. */
import { createTransport as createSmtp } from 'nodemailer'
import { isMailAddress } from '../lib/mail-address.ts'

export interface MailServerOptions {
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  readonly isLoopback: boolean
  readonly user: string
}

export interface Sender {
  readonly name: string
  readonly address: string
}

export interface Message {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string | undefined
  /** Identical in every attempt, so that a mail which arrives twice can be recognised. */
  readonly id: string
  readonly language: string
}

/** Why a mail was not taken. `isFinal`: the server refused this mail, and would refuse it again. */
export class NotSent extends Error {
  override name = 'NotSent'
  readonly isFinal: boolean

  constructor(message: string, isFinal: boolean) {
    super(message)
    this.isFinal = isFinal
  }
}

export type Transport = ReturnType<typeof createTransport>

const CONNECT_MS = 20_000
const GREETING_MS = 30_000
/** After the end of a mail its server may take ten minutes (RFC 5321 §4.5.3.2.6): who leaves earlier may send it twice. */
const REPLY_MS = 10 * 60_000

export function createTransport(server: MailServerOptions, password: () => string, from: Sender) {
  return {
    /** Resolves once the server has taken the mail. Rejects with NotSent otherwise. */
    async send(message: Message): Promise<void> {
      // Checked when it was queued; but this is the last place where it can be.
      if (!isMailAddress(message.to)) throw new NotSent('the address is not one that mail is sent to', true)
      const smtp = connection(server, password(), REPLY_MS)
      try {
        await smtp.sendMail({
          from: { name: from.name, address: from.address },
          to: { name: '', address: message.to },
          subject: message.subject,
          text: message.text,
          ...(message.html === undefined ? {} : { html: message.html }),
          messageId: `<${message.id}@${from.address.split('@')[1]}>`,
          headers: {
            // No automatic replies (RFC 3834).
            'Auto-Submitted': 'auto-generated',
            'X-Auto-Response-Suppress': 'All',
            'Content-Language': message.language,
          },
          disableFileAccess: true,
          disableUrlAccess: true,
        })
      } catch (error) {
        throw notSent(error)
      } finally {
        smtp.close()
      }
    },

    /** Connects and authenticates. */
    async verify(): Promise<void> {
      const smtp = connection(server, password(), GREETING_MS)
      try {
        await smtp.verify()
      } catch (error) {
        throw notSent(error)
      } finally {
        smtp.close()
      }
    },
  }
}

function connection({ host, port, isTls, isLoopback, user }: MailServerOptions, password: string, replyMs: number) {
  const isAuthenticated = user !== ''
  // A password is never sent in the clear, not even on this machine.
  const isPlain = !isTls && isLoopback && !isAuthenticated
  return createSmtp({
    host,
    port,
    secure: isTls,
    ...(isPlain ? { ignoreTLS: true } : { requireTLS: true }),
    tls: { minVersion: 'TLSv1.2' },
    // Without `forceAuth` a server that offers no authentication would get the mail all the same.
    ...(isAuthenticated ? { auth: { user, pass: password }, forceAuth: true } : {}),
    connectionTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: replyMs,
  })
}

/** The commands that are about one mail; another reply of the 5yz kind, such as to AUTH, is about the connection. */
const OF_MAIL: ReadonlySet<string> = new Set(['MAIL FROM', 'RCPT TO', 'DATA'])
const LONGEST_REASON = 300

function notSent(error: unknown): NotSent {
  const { message = String(error), responseCode, command } = error instanceof Error ? errorMembers(error) : {}
  const isFinal = typeof responseCode === 'number' && responseCode >= 500 && OF_MAIL.has(command ?? '')
  return new NotSent(message.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, LONGEST_REASON), isFinal)
}

function errorMembers(error: Error): { message: string; responseCode?: unknown; command?: string } {
  const code = 'responseCode' in error ? error.responseCode : undefined
  const command = 'command' in error && typeof error.command === 'string' ? { command: error.command } : {}
  // What the server said, where it said something, is all that an operator needs.
  const said = 'response' in error && typeof error.response === 'string' ? error.response.trim() : ''
  const message = said === '' ? error.message : said
  // The reply alone, such as "command not recognized", does not say to what.
  const step = command.command === 'STARTTLS' ? 'the server does not offer STARTTLS: ' : ''
  return { message: `${step}${message}`, responseCode: code, ...command }
}
