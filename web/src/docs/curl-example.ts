import type * as React from 'react'
import { curlExample, type Description } from './description.ts'

interface Described {
  path: string
  method: string
}

/** Puts the command line of an operation, with a button that copies it, before what the operation answers. */
export function withCurlExample(description: Description) {
  return (Answers: React.ComponentType<Described>, system: { React: typeof React }) => {
    const { createElement, Fragment } = system.React
    return (props: Described) => {
      const command = curlExample(description, props.path, props.method)
      const copy = () => navigator.clipboard.writeText(command)
      return createElement(
        Fragment,
        null,
        createElement(
          'div',
          { className: 'curl-example' },
          createElement('h4', null, 'Example'),
          createElement('button', { type: 'button', className: 'btn', onClick: copy }, 'Copy'),
          createElement('pre', { tabIndex: 0 }, command),
        ),
        createElement(Answers, props),
      )
    }
  }
}
