/** The mail queue: what waits, what was sent or given up, and a test of the mail server. */
import { useState } from 'preact/hooks'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { attempt, confirmAndAttempt } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { server } from '../../server.ts'
import { go, href } from '../../shell/router.ts'
import {
  Badge,
  Button,
  Dialog,
  Empty,
  ErrorNotice,
  Form,
  IconButton,
  Notice,
  Page,
  Segments,
  TextField,
  Time,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { PeopleTabs } from './tabs.tsx'
import type { Mail } from './types.ts'

const STATES = ['all', 'waiting', 'failed', 'sent'] as const
type Shown = (typeof STATES)[number]

const KINDS: Readonly<Record<string, string>> = {
  invitation: word('Invitation'),
  reset: 'New password',
  'forgot-password': 'Forgotten password',
  verification: 'Confirm the address',
  'new-browser': word('Notice: new browser'),
  'password-changed': word('Notice: password changed'),
  'factor-added': word('Notice: second factor added'),
  'factor-removed': word('Notice: second factor removed'),
  'address-changed': word('Notice: address changed'),
  'identity-linked': word('Notice: identity linked'),
  'identity-unlinked': word('Notice: identity unlinked'),
  'break-glass': word('Notice: emergency sign-in'),
  alert: word('Alert'),
}

const STATE_NAMES: Readonly<Record<Mail['state'], string>> = {
  waiting: word('waiting'),
  sent: word('sent'),
  failed: word('failed'),
  dropped: word('dropped'),
  removed: word('removed'),
}

const BADGES = { waiting: 'accent', failed: 'danger' } as const

export function MailQueue({ state }: { readonly state: string | undefined }) {
  const shown = STATES.find((known) => known === state) ?? 'all'
  const [isTesting, setTesting] = useState(false)
  const [round, setRound] = useState(0)
  return (
    <Page
      title="Mail"
      bar={<PeopleTabs current="mail" />}
      actions={
        <>
          <IconButton icon="refresh" label="Load again" onClick={() => setRound((was) => was + 1)} />
          {server.mail && <Button onClick={() => setTesting(true)}>Send a test mail</Button>}
        </>
      }
    >
      {!server.mail && (
        <Notice kind="warning">
          Mail is off: this server sends none, and links have to be passed on by hand. To turn it on, set{' '}
          <code>mail_url</code> and <code>mail_from</code>.{' '}
          <a href={`${server.base}/docs/mail`} target="_blank" rel="noreferrer">
            How to set up mail
          </a>
        </Notice>
      )}
      <div class="people-search">
        <Segments<Shown>
          label="Which mails are listed"
          value={shown}
          onValue={(value) => go(value === 'all' ? href('people', 'mail') : href('people', 'mail', value))}
          choices={[
            { value: 'all', title: 'All' },
            { value: 'waiting', title: 'Waiting' },
            { value: 'failed', title: 'Failed' },
            { value: 'sent', title: 'Sent' },
          ]}
        />
      </div>
      <MailTable
        key={`${shown} ${round}`}
        path={withQuery('/admin/mail', { state: shown === 'all' ? undefined : shown, limit: 50 })}
      />
      {isTesting && <TestDialog onClose={() => setTesting(false)} />}
    </Page>
  )
}

function MailTable({ path }: { readonly path: string }) {
  const mails = usePages<Mail>(path)
  const retry = async ({ id }: Mail) => {
    const isDone = await attempt(
      async () => void (await gate.json(`/admin/mail/${encodeURIComponent(id)}/retry`, { method: 'POST' })),
      'The mail will be tried again',
    )
    if (isDone) mails.reload()
  }
  const remove = async ({ id }: Mail) => {
    const isRemoved = await confirmAndAttempt(
      { title: 'Remove this mail?', text: 'It will not be sent. A link in it stays valid.', action: 'Remove' },
      () => gate.admin.mail.delete(id),
      'The mail was removed',
    )
    if (isRemoved) mails.reload()
  }
  return (
    <PagedTable
      of={mails}
      label="Mail"
      rowKey={({ id }) => id}
      columns={[
        {
          title: 'To',
          cell: ({ to, user, kind }) => {
            const text = to ?? (user === null ? '–' : 'Verified address')
            return (
              <span class="mail-to">
                {user === null ? text : <a href={href('people', user)}>{text}</a>}
                <span class="narrow-name">{KINDS[kind] ?? kind}</span>
              </span>
            )
          },
        },
        { title: 'Kind', wide: true, cell: ({ kind }) => KINDS[kind] ?? kind },
        {
          title: 'State',
          cell: ({ state, error }) => (
            <>
              <Badge kind={state === 'waiting' || state === 'failed' ? BADGES[state] : undefined}>
                {STATE_NAMES[state]}
              </Badge>
              {error !== null && <p class="quiet mail-error">{error}</p>}
            </>
          ),
        },
        { title: 'Attempts', wide: true, cell: ({ attempts }) => attempts },
        { title: 'Created', wide: true, cell: ({ created_at: at }) => <Time at={at} as="relative" /> },
        {
          title: 'Next attempt',
          wide: true,
          cell: ({ next_at: at }) => (at === null ? '–' : <Time at={at} as="relative" />),
        },
        {
          title: 'Actions',
          kind: 'actions',
          cell: (mail) =>
            mail.state === 'waiting' && (
              <span class="mail-actions">
                {mail.next_at !== null && (
                  <Button size="small" onClick={() => void retry(mail)}>
                    Try now
                  </Button>
                )}
                <Button size="small" kind="danger" onClick={() => void remove(mail)}>
                  Remove
                </Button>
              </span>
            ),
        },
      ]}
      empty={
        <Empty icon="link" title="There is no mail">
          Mail that is waiting appears here, and mail that was sent or given up in the last week.
        </Empty>
      }
    />
  )
}

function TestDialog({ onClose }: { readonly onClose: () => void }) {
  const [to, setTo] = useState('')
  const [isSent, setSent] = useState(false)
  const { isBusy, error, submit } = useSubmit(async () => {
    setSent(false)
    await gate.json('/admin/mail/test', { method: 'POST', body: { to: to.trim() } })
    setSent(true)
  })
  return (
    <Dialog title="Send a test mail" onClose={onClose} actions={<Button onClick={onClose}>Done</Button>}>
      <Form onSubmit={submit}>
        <TextField label="E-mail address" type="email" value={to} onValue={setTo} required autofocus />
        {error !== undefined && <ErrorNotice error={error} title="The mail was not sent" />}
        {isSent && <p role="status">The mail server accepted the mail.</p>}
        <Button type="submit" kind="primary" busy={isBusy} disabled={to.trim() === ''}>
          Send
        </Button>
      </Form>
    </Dialog>
  )
}
