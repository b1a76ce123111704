/** E-mail of a node, the entry of this folder: queues mails, sends what is queued, tests the mail server. Loaded where `mail_url` is set. */
import type { Audit, Clock } from 'gatehouse-protocol'
import { newId } from '../store/keys/opaque.ts'
import type { MailQueue } from '../store/mail/mail-queue.ts'
import type { MailPort, MailStores } from '../store/mail/notify.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ComposeEnv } from './compose.ts'
import { startDelivery } from './delivery.ts'
import { payloadSealing } from './payload.ts'
import type { IssueLink } from './prepare.ts'
import { createMailPort } from './queueing.ts'
import { createTransport, type MailServerOptions, type Sender } from './transport.ts'

export { BadTemplate } from './template.ts'
export { loadTemplates, type Templates } from './templates.ts'

export interface MailOptions {
  readonly server: MailServerOptions
  readonly password: string
  readonly from: Sender
  /** Mails in a minute. */
  readonly rate: number
  readonly issuer: string
  readonly sealingKey: Buffer
  /** What the texts of mails are made of. */
  readonly composing: ComposeEnv
  readonly queue: MailQueue
  /** Runs the work in one transaction of the identity database, with the stores of that transaction, and links that it issues. */
  readonly transact: <T>(work: (stores: MailStores, issueLink: IssueLink) => Promise<T>) => Promise<T>
  readonly audit: Audit
  readonly clock: Clock
}

export interface MailSettings {
  readonly password: string
  readonly rate: number
}

export interface Mail {
  readonly port: MailPort
  /** Sends a mail at once, past the queue. Rejects with the reason. */
  test(to: string): Promise<void>
  setSettings(settings: MailSettings): void
  /** From now on this node sends what is queued. */
  start(watch: Watch): { close(): Promise<void> }
}

export interface Watch {
  readonly metrics: Pick<Metrics, 'count' | 'watch'>
  readonly onFailure: (facts: { mail: string; kind: string; outcome: string; reason: string | undefined }) => void
  readonly onError: (error: unknown) => void
}

const COUNT_MS = 10_000

/** Connects to the mail server and authenticates. Rejects with the reason. */
export function checkServer(server: MailServerOptions, password: string, from: Sender): Promise<void> {
  return createTransport(server, () => password, from).verify()
}

export function openMail(options: MailOptions): Mail {
  const settings = { password: options.password, rate: options.rate }
  const rate = () => settings.rate
  const transport = createTransport(options.server, () => settings.password, options.from)
  return {
    port: createMailPort({ sealingKey: options.sealingKey, clock: options.clock, rate }),
    async test(to) {
      const { brand } = options.composing.style
      const text = `This mail was sent by ${brand} (${options.issuer}) to test its mail server.\n`
      await transport.send({ to, subject: `Test mail of ${brand}`, text, html: undefined, id: newId(), language: 'en' })
    },
    setSettings: (next) => void Object.assign(settings, next),
    start({ metrics, onFailure, onError }) {
      const counting = countWaiting(options, metrics, onError)
      const delivery = startDelivery({
        queue: options.queue,
        transact: options.transact,
        issuer: options.issuer,
        clock: options.clock,
        audit: options.audit,
        composing: options.composing,
        rate,
        sealing: payloadSealing(options.sealingKey),
        transport,
        onError,
        onOutcome({ id, kind }, outcome, reason) {
          metrics.count('gatehouse_mail_total', { kind, outcome })
          if (outcome === 'postponed' || outcome === 'refused' || outcome === 'expired')
            onFailure({ mail: id, kind, outcome, reason })
        },
      })
      return {
        async close() {
          clearInterval(counting)
          await delivery.close()
        },
      }
    },
  }
}

function countWaiting(
  { queue, clock }: Pick<MailOptions, 'queue' | 'clock'>,
  metrics: Watch['metrics'],
  onError: (error: unknown) => void,
): NodeJS.Timeout {
  let waiting: { count: number; since: number | undefined } = { count: 0, since: undefined }
  metrics.watch('gatehouse_mail_queue', () => [[{}, waiting.count]])
  metrics.watch('gatehouse_mail_queue_age_seconds', () => [
    [{}, waiting.since === undefined ? 0 : Math.max(0, (clock() - waiting.since) / 1000)],
  ])
  const count = async (): Promise<void> => {
    waiting = await queue.waiting()
  }
  return setInterval(() => void count().catch(onError), COUNT_MS).unref()
}
