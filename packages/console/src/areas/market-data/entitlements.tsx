/** The entitlements to a product: the list, and the removal of one. */
import { useState } from 'preact/hooks'
import { AccessBadge, kindText } from '../../admin/licences.tsx'
import { PagedTable } from '../../admin/list.tsx'
import { usePages } from '../../admin/pages.ts'
import { withQuery } from '../../admin/requests.ts'
import { confirmAndAttempt } from '../../admin/tagged.ts'
import { gate } from '../../gate.ts'
import { Button, dangerColumn, Empty, Section, Time } from '../../ui/index.ts'
import { NewEntitlement } from './new-entitlement.tsx'
import type { Entitlement } from './types.ts'
import { holderKind, holderText } from './words.ts'

export function Entitlements({ product }: { readonly product: string }) {
  const entitlements = usePages<Entitlement>(withQuery('/admin/entitlements', { product, limit: 100 }))
  const [isAdding, setAdding] = useState(false)
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
      New entitlement
    </Button>
  )
  return (
    <Section
      title="Entitlements"
      about="The nearest decides: a user or application by name, then an attribute, then a role; among these the highest access."
      actions={add}
    >
      <PagedTable
        of={entitlements}
        label="Entitlements"
        rowKey={({ id }) => id}
        columns={[
          { title: 'Who', cell: (each) => holderText(each) },
          { title: 'Kind', wide: true, cell: (each) => holderKind(each) },
          { title: 'Access', cell: ({ access }) => <AccessBadge of={access} /> },
          { title: 'From', wide: true, cell: ({ from }) => from !== undefined && <Time at={from} as="date" /> },
          { title: 'Until', cell: ({ until }) => until !== undefined && <Time at={until} as="date" /> },
          { title: 'Counted as', wide: true, cell: ({ kind }) => kindText(kind) },
          dangerColumn<Entitlement>(
            () => 'Remove',
            (entitlement) => remove(entitlement, entitlements.reload),
          ),
        ]}
        empty={
          <Empty icon="people" title="Nobody is entitled" actions={add}>
            All have what the product gives to all.
          </Empty>
        }
      />
      {isAdding && (
        <NewEntitlement
          product={product}
          onClose={() => setAdding(false)}
          onAdded={() => {
            setAdding(false)
            entitlements.reload()
          }}
        />
      )}
    </Section>
  )
}

async function remove(entitlement: Entitlement, reload: () => void): Promise<void> {
  const who = holderText(entitlement)
  const isDone = await confirmAndAttempt(
    {
      title: `Remove the entitlement of ${who}?`,
      text: 'It takes effect at once, also for what is open.',
      action: 'Remove',
    },
    () =>
      gate.request(`/admin/entitlements/${encodeURIComponent(entitlement.id)}`, {
        method: 'DELETE',
        headers: { 'if-match': '*' },
      }),
    'The entitlement was removed',
  )
  if (isDone) reload()
}
