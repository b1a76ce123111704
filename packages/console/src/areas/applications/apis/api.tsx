/** One API, and a new one. */
import { useState } from 'preact/hooks'
import type { AdminApi } from '../../../../../client/src/index.ts'
import { type Tagged, useTagged } from '../../../admin/tagged.ts'
import { gate } from '../../../gate.ts'
import { confirm } from '../../../shell/dialogs.tsx'
import { go, href } from '../../../shell/router.ts'
import { toast } from '../../../shell/toasts.tsx'
import { Await, Button, Page, Section } from '../../../ui/index.ts'
import { ApiForm, type Draft, draftApi, EMPTY, requestMembers } from './form.tsx'

const PARENTS = [
  { title: 'Applications', href: href('applications') },
  { title: 'APIs', href: href('applications', 'apis') },
]

export function ApiPage({ resource }: { readonly resource: string }) {
  const api = useTagged<AdminApi>(`/admin/apis/${encodeURIComponent(resource)}`)
  const { data } = api
  // A form that was saved begins anew.
  const [saved, setSaved] = useState(0)
  return (
    <Page
      title={data?.name ?? resource}
      parents={PARENTS}
      actions={
        data !== undefined && (
          <Button kind="danger" icon="trash" onClick={() => remove(api, data)}>
            Delete
          </Button>
        )
      }
    >
      <Await of={api} title="This API could not be loaded">
        {(found) => (
          <Section title={found.resource}>
            <ApiForm
              key={`${saved} ${JSON.stringify(found)}`}
              draft={draftApi(found)}
              action="Save"
              failed="The API was not changed"
              onSave={async (draft) => {
                await api.save(requestMembers(draft))
                setSaved(saved + 1)
                toast(`The API ${found.name} was changed`)
              }}
            />
          </Section>
        )}
      </Await>
    </Page>
  )
}

async function remove(api: Tagged<AdminApi>, { name, scopes }: AdminApi): Promise<void> {
  const isAgreed = await confirm({
    title: `Delete the API ${name}?`,
    text: `Its scopes ${scopes.map((scope) => scope.name).join(', ')} go with it. No role or application may name them.`,
    action: 'Delete',
    danger: true,
  })
  if (isAgreed && (await api.remove(`The API ${name} was deleted`))) go(href('applications', 'apis'), { replace: true })
}

export function NewApi() {
  const create = async (draft: Draft) => {
    const members = Object.entries(requestMembers(draft)).filter(([, value]) => value !== null)
    await gate.admin.apis.create({ resource: draft.resource.trim(), ...Object.fromEntries(members) })
    toast(`The API ${draft.resource} was declared`)
    go(href('applications', 'apis', draft.resource.trim()))
  }
  return (
    <Page title="New API" parents={PARENTS}>
      <ApiForm draft={EMPTY} action="Declare the API" failed="The API was not declared" isNew onSave={create} />
    </Page>
  )
}
