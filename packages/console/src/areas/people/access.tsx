/** What a user has open, and how they sign in: sessions, applications, connections, second factors, identities elsewhere. */
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { confirmAndAttempt } from '../../admin/tagged.ts'
import { gate, may } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Badge, dangerColumn, Section, Time } from '../../ui/index.ts'
import { RightBadges } from '../../ui/rights.tsx'
import { word } from '../../ui/word.ts'
import { ConnectionTable, SessionTable } from './signed-in.tsx'
import { type Consent, type Factor, type Identity, type Person, userPath } from './types.ts'

export function UserAccess({
  person,
  round,
  onChange,
}: {
  readonly person: Person
  /** Another number loads the lists again. */
  readonly round: number
  readonly onChange: () => void
}) {
  return (
    <>
      <Section title="Browser sessions">
        <SessionTable key={round} path={withQuery('/admin/sessions', { user: person.id, limit: 20 })} ofOne />
      </Section>
      <Section
        title="Applications"
        about="Applications that can act for the user, with consent or because they need none."
      >
        <Consents key={round} person={person} />
      </Section>
      {may('Platform/Admin') && (
        <Section title="Streaming connections" about="Of all nodes.">
          <ConnectionTable key={round} path={withQuery('/admin/streams', { user: person.id, limit: 20 })} ofOne />
        </Section>
      )}
      <Section title="Second factors">
        <Factors key={round} person={person} onChange={onChange} />
      </Section>
      <Section title="Identities" about="Accounts at other providers with which the user signs in.">
        <Identities key={round} person={person} onChange={onChange} />
      </Section>
    </>
  )
}

function Consents({ person }: { readonly person: Person }) {
  const consents = usePages<Consent>(userPath(person.id, 'consents'))
  const end = async ({ client_id: client }: Consent) => {
    const isEnded = await confirmAndAttempt(
      {
        title: `Remove the access of ${client}?`,
        text: `Its tokens for ${person.username} are revoked, and it has to ask for consent again.`,
        action: 'End access',
      },
      () => gate.admin.of(person.id, 'consents').delete(client),
      word(`${client} no longer has access to ${person.username}`),
    )
    if (isEnded) consents.reload()
  }
  return (
    <PagedTable
      of={consents}
      label="Applications"
      rowKey={(item) => item.client_id}
      columns={[
        { title: 'Application', cell: (item) => item.client_id },
        {
          title: 'Rights',
          wide: true,
          cell: ({ scopes }) => <RightBadges of={scopes} />,
        },
        {
          title: 'Consent',
          cell: ({ consented }) => (consented ? <Badge kind="good">Given</Badge> : <Badge>Not needed</Badge>),
        },
        { title: 'Since', wide: true, cell: ({ created_at: at }) => <Time at={at} as="relative" /> },
        dangerColumn(() => 'End access', end),
      ]}
      empty={<p class="quiet">{`No application may act for ${person.username}.`}</p>}
    />
  )
}

const KINDS: Readonly<Record<string, string>> = {
  totp: 'Authenticator app',
  webauthn: 'Passkey or security key',
  passkey: word('Passkey'),
  recovery: 'Recovery codes',
}

function Factors({ person, onChange }: { readonly person: Person; readonly onChange: () => void }) {
  const factors = usePages<Factor>(userPath(person.id, 'factors'))
  const remove = async ({ id, label }: Factor) => {
    const isRemoved = await confirmAndAttempt(
      {
        title: label ? `Remove ${label}?` : 'Remove this factor?',
        text: `${person.username} can no longer sign in with it.`,
        action: 'Remove',
      },
      () => gate.admin.of(person.id, 'factors').delete(id),
      label ? word(`${label} was removed`) : 'The factor was removed',
    )
    if (!isRemoved) return
    factors.reload()
    onChange()
  }
  return (
    <PagedTable
      of={factors}
      label="Second factors"
      rowKey={({ id }) => id}
      columns={[
        { title: 'Factor', cell: ({ label, kind }) => label || KINDS[kind] || kind },
        { title: 'Kind', wide: true, cell: ({ kind }) => KINDS[kind] ?? kind },
        { title: 'Last used', cell: ({ used_at: at }) => <Time at={at} as="relative" /> },
        dangerColumn(() => word('Remove'), remove),
      ]}
      empty={<p class="quiet">None. Users set them up on their account page.</p>}
    />
  )
}

function Identities({ person, onChange }: { readonly person: Person; readonly onChange: () => void }) {
  const identities = usePages<Identity>(userPath(person.id, 'identities'))
  const unlink = async ({ id, label, provider }: Identity) => {
    const isUnlinked = await confirmAndAttempt(
      {
        title: `Unlink ${label}?`,
        text: `${person.username} can no longer sign in with it. Its sessions end, and so do the roles that ${provider} gave.`,
        action: 'Unlink',
      },
      () => gate.admin.of(person.id, 'identities').delete(id),
      word(`${label} was unlinked`),
    )
    if (!isUnlinked) return
    identities.reload()
    onChange()
  }
  return (
    <PagedTable
      of={identities}
      label="Identities"
      rowKey={({ id }) => id}
      columns={[
        { title: 'Identity', cell: ({ label }) => label },
        { title: 'Provider', cell: ({ provider }) => <a href={href('people', 'providers', provider)}>{provider}</a> },
        { title: 'Subject', wide: true, cell: ({ subject }) => <code>{subject}</code> },
        { title: 'Last used', wide: true, cell: ({ used_at: at }) => <Time at={at} as="relative" /> },
        dangerColumn(() => word('Unlink'), unlink),
      ]}
      empty={<p class="quiet">None. Users link them when they sign in, or on their account page.</p>}
    />
  )
}
