/** Opens e-mail where `mail_url` is set; nothing of it is loaded otherwise. */
import type { AccountsInside } from '../accounts/accounts.ts'
import type { Config } from '../config/config.ts'
import { BadSetting } from '../config/parsers.ts'
import { describeBrowser } from '../identity/browser/browser-name.ts'
import { chooseDisplayName } from '../identity/tokens/claims.ts'
import { exceptOutages } from '../lib/unavailable.ts'
import type { Mail, MailSettings, Templates } from '../mail/mail.ts'
import type { User } from '../store/accounts/user.ts'
import { transact } from '../store/database/transaction.ts'
import { createStores } from '../store/stores.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Resources } from './resources.ts'
import type { Cleanup } from './watch/cleanup.ts'

/** Read before the start: a template that cannot be used refuses it. Undefined where no mail is set up. */
export async function readMailTemplates({ mailUrl, mailTemplates }: Config): Promise<Templates | undefined> {
  if (mailUrl === undefined) return undefined
  const { BadTemplate, loadTemplates } = await import('../mail/mail.ts')
  try {
    return loadTemplates(mailTemplates)
  } catch (error) {
    if (error instanceof BadTemplate) throw new BadSetting(`GATEHOUSE_MAIL_TEMPLATES: ${error.message}`)
    throw error
  }
}

/** Sends nothing by itself. Undefined where no mail is set up. */
export async function openMailIfSet(
  config: Config,
  issuer: string,
  resources: Resources,
  templates?: Templates,
): Promise<Mail | undefined> {
  const { mailUrl: server, mailFrom: from, mailPassword: password, mailRate: rate } = config
  if (server === undefined || from === undefined) return undefined
  const { loadTemplates, openMail } = await import('../mail/mail.ts')
  const { database, stores, audit, clock, masterKey } = resources
  return openMail({
    server,
    password,
    from,
    rate,
    issuer,
    sealingKey: masterKey.derive('mail'),
    composing: {
      templates: templates ?? loadTemplates(config.mailTemplates),
      style: { brand: config.brandName, colour: config.brandColour },
      contact: config.supportContact,
      chooseName: chooseDisplayName,
      describeBrowser: describeBrowser,
    },
    queue: stores.mailQueue,
    transact: (work) =>
      transact(database.db, (db) => {
        const inside = { ...database, db }
        return work(createStores(inside, clock), (user, to, lifetimeMs) =>
          issueForgottenLink(user, to, lifetimeMs, { database: inside, clock, audit }),
        )
      }),
    audit,
    clock,
  })
}

/** It publishes nothing, so that it can be a part of the transaction of the mail. */
async function issueForgottenLink(
  user: User,
  to: string,
  lifetimeMs: number,
  { database, clock, audit }: Pick<Resources, 'database' | 'clock' | 'audit'>,
): Promise<string> {
  const { changeAccounts } = await import('../accounts/accounts.ts')
  const env = { database, clock, audit, receive: () => {}, mail: undefined, localSignIn: () => 'all' as const }
  const author = { source: 'mail', actor: user.id } as const
  const work = (accounts: AccountsInside) => accounts.issueForgottenLink(user, to, lifetimeMs)
  return (await changeAccounts(env, author, work, { isLocked: true })).token
}

/** Connects and authenticates. Rejects with the reason. */
export async function checkMailServer({ mailUrl, mailFrom, mailPassword }: Config): Promise<void> {
  if (mailUrl === undefined || mailFrom === undefined) return
  const { checkServer } = await import('../mail/mail.ts')
  await checkServer(mailUrl, mailPassword, mailFrom)
}

export function mailSettings({ mailPassword: password, mailRate: rate }: Config): MailSettings {
  return { password, rate }
}

/** This node sends what is queued, until it is closed. */
export function startMail(
  mail: Mail,
  { logger }: { readonly logger: Logger },
  metrics: Metrics,
  cleanup: Cleanup,
): void {
  const delivery = mail.start({
    metrics,
    onFailure: (facts) => logger.warn(facts, 'a mail could not be delivered'),
    onError: exceptOutages((error) => logger.error({ err: error }, 'mail error')),
  })
  cleanup.add(() => delivery.close())
}
