// Tests the MCP server with the official TypeScript client, which validates
// structured content with the output schemas.
//
//   node client.mjs URL KEY NARROW    NARROW is a key with only the scope read:risks
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';

const [url, key, narrow] = process.argv.slice(2);
const base = `${url}/api/v1`;

async function connect(bearer) {
  const client = new Client({ name: 'govsvc-checks', version: '1' });
  const headers = bearer ? { Authorization: `Bearer ${bearer}` } : {};
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers } }));
  return client;
}

async function get(path) {
  const response = await fetch(base + path, { headers: { Authorization: `Bearer ${key}` } });
  assert.equal(response.status, 200, path);
  return response.json();
}

// paths returns the paths of the operations by the name of their tool
async function paths() {
  const document = await (await fetch(`${base}/openapi.json`)).json();
  const found = {};
  for (const [path, item] of Object.entries(document.paths)) {
    if (item.get?.['x-tool']) found[item.get['x-tool']] = path;
  }
  return found;
}

async function refuses(call, code) {
  await assert.rejects(call, (problem) => problem instanceof McpError && problem.code === code);
}

const checks = {
  async 'initialize and ping'() {
    const client = await connect(key);
    assert.equal(client.getServerVersion().name, 'govsvc');
    assert.deepEqual(client.getServerCapabilities(), { tools: {} });
    assert.ok(client.getInstructions().length > 500);
    await client.ping();
    await client.close();
  },
  async 'every tool answers as its GET'() {
    const client = await connect(key);
    const { tools, nextCursor } = await client.listTools();
    const operations = await paths();
    assert.equal(nextCursor, undefined);
    assert.deepEqual(tools.map((tool) => tool.name).sort(), Object.keys(operations).sort());
    assert.equal(tools.length, 14);
    for (const tool of tools) {
      assert.ok(tool.annotations.readOnlyHint && tool.outputSchema && tool.title, tool.name);
      const result = await client.callTool({ name: tool.name, arguments: {} });
      const want = await get(operations[tool.name]);
      assert.deepEqual(result.structuredContent, want, tool.name);
      assert.deepEqual(JSON.parse(result.content[0].text), want, tool.name);
    }
    await client.close();
  },
  async 'a list page by page'() {
    const client = await connect(key);
    await client.listTools(); // so that the client knows the output schema
    const ids = [];
    let cursor;
    do {
      const page = await client.callTool({ name: 'list_risks', arguments: { limit: 3, ...(cursor && { cursor }) } });
      ids.push(...page.structuredContent.data.map((risk) => risk.id));
      assert.equal(page.structuredContent.has_more, page.structuredContent.next_cursor !== null);
      cursor = page.structuredContent.next_cursor;
    } while (cursor);
    assert.ok(ids.length > 3);
    assert.equal(new Set(ids).size, ids.length);
    await client.close();
  },
  async 'errors of the call'() {
    const client = await connect(key);
    for (const params of [
      { name: 'no_such_tool', arguments: {} },
      { name: 'list_risks', arguments: { limit: 101 } },
      { name: 'list_risks', arguments: { cursor: 'made up' } },
      { name: 'list_risks', arguments: { unknown: 1 } },
    ]) {
      await refuses(client.callTool(params), ErrorCode.InvalidParams);
    }
    await refuses(client.request({ method: 'x/y' }, { parse: (v) => v }), ErrorCode.MethodNotFound);
    await client.close();
  },
  async 'errors of the tool'() {
    const client = await connect(narrow);
    assert.equal((await client.listTools()).tools.length, 14);
    const result = await client.callTool({ name: 'list_vendors', arguments: {} });
    assert.equal(result.isError, true);
    assert.equal(result.structuredContent, undefined);
    assert.match(result.content[0].text, /read:vendor/);
    assert.notEqual((await client.callTool({ name: 'list_risks', arguments: {} })).isError, true);
    await client.close();
  },
  async 'no key, no connection'() {
    await assert.rejects(connect(), /401|Unauthorized|missing_credential/i);
    await assert.rejects(connect('gds_live_wrong'), /401|Unauthorized|invalid_api_key/i);
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`ok    ${name}`);
}
