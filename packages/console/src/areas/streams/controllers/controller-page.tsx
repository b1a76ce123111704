/** Pages of a remote controller: the new one, and one to change or remove. */
import type { ComponentChildren } from 'preact'
import { read } from '../../../admin/requests.ts'
import { useTagged } from '../../../admin/tagged.ts'
import { gate } from '../../../gate.ts'
import { confirm } from '../../../shell/dialogs.tsx'
import { go, href } from '../../../shell/router.ts'
import { toast } from '../../../shell/toasts.tsx'
import { Await, Menu, Page } from '../../../ui/index.ts'
import { word } from '../../../ui/word.ts'
import { buildDefinition, controllerPath, draftController, EMPTY_DRAFT, type RemoteController } from './controller.ts'
import { ControllerForm, NameTaken } from './controller-form.tsx'

const PARENTS = [{ title: 'Controllers', href: href('streams', 'controllers') }]
const leave = () => go(href('streams', 'controllers'))

export function NewController() {
  return (
    <Page title="Declare a remote controller" parents={PARENTS}>
      <ControllerForm
        draft={EMPTY_DRAFT}
        isNew
        action="Declare"
        failure="The controller was not declared"
        onSubmit={async (draft) => {
          const name = draft.name.trim()
          // A PUT would replace it.
          const { items } = await read<{ items: readonly RemoteController[] }>('/admin/controllers')
          if (items.some((other) => other.name === name))
            throw new NameTaken(`There is a controller ${name} already: choose another name.`)
          await gate.request(controllerPath(name), { method: 'PUT', body: buildDefinition(draft) })
          toast(word(`${name} is declared`))
          leave()
        }}
        onCancel={leave}
      />
    </Page>
  )
}

export function ControllerPage({ name }: { readonly name: string }) {
  const tagged = useTagged<RemoteController>(controllerPath(name))
  const remove = async () => {
    const isAgreed = await confirm({
      title: `Remove ${name}?`,
      text: 'Clients can no longer send requests to it. Requests that are already running are still answered.',
      action: 'Remove',
      danger: true,
    })
    if (isAgreed && (await tagged.remove(word(`${name} was removed`)))) leave()
  }
  const frame = (children: ComponentChildren) => (
    <Page
      title={name}
      parents={PARENTS}
      actions={
        <Menu
          label="More actions"
          items={[{ title: 'Remove', icon: 'trash', danger: true, act: () => void remove() }]}
        />
      }
    >
      {children}
    </Page>
  )
  return frame(
    <Await of={tagged} title="This controller could not be loaded">
      {(controller) => (
        <ControllerForm
          key={JSON.stringify(controller)}
          draft={draftController(controller)}
          action="Save"
          failure="The controller was not changed"
          onSubmit={async (draft) => {
            await tagged.replace(buildDefinition(draft))
            toast(word(`${name} was changed`))
            leave()
          }}
          onCancel={leave}
        />
      )}
    </Await>,
  )
}
