/** The keys that sign tokens: rotation, and retirement, also of a compromised key. */
import { useState } from 'preact/hooks'
import { read } from '../../admin/requests.ts'
import { gate } from '../../gate.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { toast, toastError } from '../../shell/toasts.tsx'
import {
  Await,
  Badge,
  Button,
  Copy,
  FormDialog,
  Menu,
  Notice,
  Section,
  Select,
  Table,
  Time,
  useLoad,
  useSubmit,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { KeyItem } from './replies.ts'

const STATES: Readonly<
  Record<
    KeyItem['state'],
    { readonly title: string; readonly kind?: 'good' | 'accent' | 'danger'; readonly about: string }
  >
> = {
  signing: { title: 'signing', kind: 'good', about: 'Signs all new tokens' },
  waiting: { title: 'waiting', kind: 'accent', about: 'Published; will sign later' },
  outlived: { title: 'outlived', about: 'Replaced by a newer key; its tokens are still valid' },
  retired: { title: 'retired', about: 'Published until its last token has expired' },
  removed: { title: 'removed', about: 'No longer published' },
  compromised: { title: 'compromised', kind: 'danger', about: 'Retired as compromised; its tokens are rejected' },
}

export function Keys() {
  const loaded = useLoad((signal) => read<{ items: readonly KeyItem[] }>('/admin/keys', signal), [])
  const [rotates, setRotates] = useState(false)
  const end = async (path: string, done: string) => {
    try {
      await gate.request(path, { method: 'DELETE' })
      toast(done)
    } catch (error) {
      toastError(error, 'The key was not changed')
    }
    loaded.reload()
  }
  const retire = async ({ kid }: KeyItem) => {
    const isSure = await confirm({
      title: 'Retire this key?',
      text: `${short(kid)} stops signing now. Tokens that it has signed stay valid until they expire, and it is published until then.`,
      action: 'Retire key',
      danger: true,
    })
    if (isSure) await end(`/admin/keys/${kid}`, 'The key was retired')
  }
  const retireAsCompromised = async ({ kid, state }: KeyItem) => {
    const isSure = await confirm({
      title: 'Retire this key as compromised?',
      text: (
        <>
          <p>
            Do this if someone else may know the private key <code>{short(kid)}</code>. It cannot be undone.
          </p>
          <ul class="consequences">
            <li>Every token that it has signed is rejected at once: all users and applications need a new one.</li>
            <li>It is no longer published; services that cache the keys accept its tokens until they reload them.</li>
            {state === 'signing' && <li>A new key is created and signs from now on.</li>}
          </ul>
        </>
      ),
      action: 'Retire key',
      danger: true,
      typed: word('compromised'),
    })
    if (isSure) await end(`/admin/keys/${kid}?compromised=true`, 'The key was retired, and its tokens are rejected')
  }
  return (
    <Section
      title="Signing keys"
      about="They sign ID tokens and access tokens. They are rotated automatically; you can also rotate them here."
      actions={
        <Button kind="primary" icon="refresh" onClick={() => setRotates(true)}>
          Rotate…
        </Button>
      }
    >
      <Await of={loaded} title="The keys could not be listed">
        {({ items }) => (
          <Table
            label="Signing keys"
            rows={items}
            rowKey={({ kid }) => kid}
            columns={[
              {
                title: 'Key',
                cell: ({ kid }) => (
                  <span class="id">
                    <code title={kid}>{short(kid)}</code> <Copy text={kid} label="Copy the key id" />
                  </span>
                ),
              },
              {
                title: 'State',
                cell: ({ state }) => (
                  <span class="key-state">
                    <Badge kind={STATES[state]?.kind}>{STATES[state]?.title ?? state}</Badge>{' '}
                    <span class="quiet">{STATES[state]?.about}</span>
                  </span>
                ),
              },
              { title: 'Created', cell: ({ created_at }) => <Time at={created_at} />, wide: true },
              { title: 'Signs since', cell: ({ active_from }) => <Time at={active_from} />, wide: true },
              { title: 'Published until', cell: ({ removed_after }) => <Time at={removed_after} />, wide: true },
              {
                title: 'Actions',
                kind: 'actions',
                cell: (key) =>
                  key.state !== 'compromised' &&
                  key.state !== 'removed' && (
                    <Menu
                      label={`Actions for key ${short(key.kid)}`}
                      items={[
                        ...(key.state === 'retired' ? [] : [{ title: 'Retire…', act: () => retire(key) }]),
                        { title: 'Retire as compromised…', danger: true, act: () => retireAsCompromised(key) },
                      ]}
                    />
                  ),
              },
            ]}
          />
        )}
      </Await>
      {rotates && (
        <Rotate
          onClose={(isDone) => {
            setRotates(false)
            if (isDone) loaded.reload()
          }}
        />
      )}
    </Section>
  )
}

function Rotate({ onClose }: { readonly onClose: (isDone: boolean) => void }) {
  const [after, setAfter] = useState('86400')
  const { isBusy, submit } = useSubmit(
    async () => {
      await gate.request('/admin/keys', { method: 'POST', body: { active_in: Number(after) } })
      toast(after === '0' ? 'A new key signs from now on' : 'A new key is published and will sign later')
      onClose(true)
    },
    (error) => toastError(error, 'The key was not rotated'),
  )
  return (
    <FormDialog
      title="Rotate the signing key"
      size="small"
      action="Rotate"
      busy={isBusy}
      onClose={() => onClose(false)}
      onSubmit={submit}
    >
      <p>A new key is created and published now. Tokens signed with the current key stay valid.</p>
      <Select
        label="The new key signs"
        value={after}
        onValue={setAfter}
        choices={[
          { value: '86400', title: 'in a day (recommended)' },
          { value: '3600', title: 'in an hour' },
          { value: '0', title: 'at once' },
        ]}
      />
      {after !== '86400' && (
        <Notice kind="warning">
          Applications that cache the published keys for longer reject new tokens until they fetch the keys again.
        </Notice>
      )}
    </FormDialog>
  )
}

function short(kid: string): string {
  return kid.length > 16 ? `${kid.slice(0, 12)}…` : kid
}
