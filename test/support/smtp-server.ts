/** A mail server on a free port of loopback, which keeps what it is given and refuses what a test wants. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { type Certificate, trustedCertificate } from './certificate.ts'

export const MAIL_USER = 'gate'
export const MAIL_PASSWORD = 'the password of the mailbox'

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  readonly isSecure: boolean
  readonly user: string
  readonly raw: string
  /** By name in lower case, unfolded. */
  readonly headers: ReadonlyMap<string, string>
  /** The first part, decoded. */
  readonly text: string
  /** The second part, decoded. */
  readonly html: string
}

export interface TestSmtpServer {
  readonly port: number
  readonly mails: ReceivedMail[]
  /** Every line of a client so far is one of these. */
  readonly commands: string[]
  /** What the server says to RCPT; undefined takes the recipient. */
  answer: ((to: string) => { readonly code: number; readonly text: string } | undefined) | undefined
  /** Waits before it says that it has taken a mail. */
  hold: (() => Promise<void>) | undefined
  /** For a server with these settings. */
  readonly flags: Readonly<Record<string, string>>
  close(): Promise<void>
}

export interface TestSmtpOptions {
  readonly tls?: 'starttls' | 'implicit' | 'none'
  readonly auth?: boolean
  readonly certificate?: Certificate
  readonly port?: number
}

export async function startSmtpServer(options: TestSmtpOptions = {}): Promise<TestSmtpServer> {
  const { tls = 'starttls', auth = true, certificate = trustedCertificate(), port = 0 } = options
  const mails: ReceivedMail[] = []
  const commands: string[] = []
  const settings: SMTPServerOptions = {
    ...certificate,
    secure: tls === 'implicit',
    hideSTARTTLS: tls === 'none',
    allowInsecureAuth: tls === 'none',
    disabledCommands: [...(tls === 'none' ? ['STARTTLS'] : []), ...(auth ? [] : ['AUTH'])],
    authOptional: !auth,
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 100,
    onAuth({ username, password }, _session, done) {
      commands.push('AUTH')
      if (username === MAIL_USER && password === MAIL_PASSWORD) done(null, { user: username })
      else done(reply(535, 'wrong password'))
    },
    onMailFrom(_address, _session, done) {
      commands.push('MAIL')
      done()
    },
    onRcptTo({ address }, _session, done) {
      commands.push('RCPT')
      const refused = server.answer?.(address)
      done(refused === undefined ? undefined : reply(refused.code, refused.text))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        try {
          await server.hold?.()
        } catch {
          // Nobody is there who could be answered.
          return
        }
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          ...readMail(Buffer.concat(chunks).toString('latin1')),
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          isSecure: session.secure,
          user: String(session.user ?? ''),
        })
        done(null, 'taken')
      })
    },
  }
  const smtp = new SMTPServer(settings)
  smtp.on('error', () => {})
  const listener = smtp.listen(port, '127.0.0.1')
  if (!listener.listening) await once(listener, 'listening')
  const { port: open } = listener.address() as AddressInfo
  const user = auth ? `${MAIL_USER}@` : ''
  const server: TestSmtpServer = {
    port: open,
    mails,
    commands,
    answer: undefined,
    hold: undefined,
    flags: {
      '--mail-url': `${tls === 'implicit' ? 'smtps' : 'smtp'}://${user}127.0.0.1:${open}`,
      '--mail-from': 'Test Gate <gate@example.com>',
      ...(auth ? { '--mail-password': MAIL_PASSWORD } : {}),
    },
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  }
  return server
}

function reply(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode })
}

function readMail(raw: string): Pick<ReceivedMail, 'raw' | 'headers' | 'text' | 'html'> {
  const [head = '', body = ''] = splitHead(raw)
  const headers = readHeaders(head)
  const boundary = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '')?.[1]
  if (boundary === undefined) return { raw, headers, text: decode(body, headers), html: '' }
  const [text = '', html = ''] = body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => {
      const [partHead = '', partBody = ''] = splitHead(part.replace(/^\r\n/, ''))
      return decode(partBody, readHeaders(partHead))
    })
  return { raw, headers, text, html }
}

function splitHead(text: string): [head: string, body: string] {
  const at = text.indexOf('\r\n\r\n')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 4)]
}

function readHeaders(head: string): ReadonlyMap<string, string> {
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
}

function decode(body: string, headers: ReadonlyMap<string, string>): string {
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase()
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  const bytes =
    encoding === 'quoted-printable'
      ? body
          .replaceAll('=\r\n', '')
          .replaceAll(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      : body
  return Buffer.from(bytes, 'latin1').toString()
}

/** The link of a mail. */
export function linkIn({ text }: ReceivedMail): URL {
  const [link] = /https?:\/\/\S+/.exec(text) ?? []
  if (link === undefined) throw new Error(`There is no link in ${text}`)
  return new URL(link)
}
