/** What would lead a test to somebody's own server, database, bucket or repository, or colour what it reads. */
const OF_SOMEBODY =
  /^(GODWIT_(?!TEST_|WIRE_)|GIT_(?!EXEC_PATH$)|AWS_|PG[A-Z]+$|GITHUB_TOKEN$|FORCE_COLOR$)/

const HERE = ['127.0.0.1', 'localhost']

/** Of what the shell says that the tests were started from, only what is about the machine counts. */
export function forgetSomebody(env: NodeJS.ProcessEnv = process.env): void {
  for (const name of Object.keys(env)) if (OF_SOMEBODY.test(name)) delete env[name]
  env.GIT_CONFIG_GLOBAL = '/dev/null'
  // A machine where Godwit is installed has a file of settings.
  env.GODWIT_CONFIG = '/dev/null'
  env.GIT_CONFIG_NOSYSTEM = '1'
  // Tests talk to servers on this machine; curl and Python would ask a proxy for them.
  for (const name of ['NO_PROXY', 'no_proxy']) {
    const others = (env[name] ?? '').split(',').filter((each) => each && !HERE.includes(each))
    env[name] = [...HERE, ...others].join(',')
  }
}
