"""A mock of a language model, which works offline: `mockllm/NAME`.

Its replies are random, and NAME is a part of the seed. The mock of inspect-ai is not used, because its replies contain
no response to an item, and counting their tokens needs a network.
"""

import json
import random
from collections.abc import Callable
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, ModelUsage

from batteries.tasks import task_named
from experiment.models.prompts.requests import Requests
from experiment.models.runs.inspect_task import messages_of

PROVIDER = "mockllm"
_BYTES_PER_TOKEN = 4

Reply = Callable[[list[ChatMessage], Any, Any, GenerateConfig], ModelOutput]


def mock_replies(model: str, requests: Requests) -> Reply:
    """Return a function that replies to each item with a random possible response.

    The model's name is a part of the seed.
    """
    confidence, words = requests.study.definition.confidence, requests.study.words
    is_conversation = requests.session_order is not None
    items = {
        messages_of(request.prompt)[-1].text: requests.study.battery.by_id[request.item_id]
        for request in requests
        if request.request_id.epoch == 1 and not is_conversation
    }

    def reply(messages: list[ChatMessage], _tools: Any, _choice: Any, config: GenerateConfig) -> ModelOutput:
        prompt = messages[-1].text
        n_earlier = sum(message.role == "assistant" for message in messages)
        item = requests.items[n_earlier] if is_conversation else items[prompt]
        seed = f"{model}/{config.temperature}/{item.item_id}/{prompt}"
        response = task_named(item.task).draw(item.content, random.Random(seed))
        text = response if isinstance(response, str) else json.dumps(response)
        if confidence is not None:
            text += f"\n{words.say('confidence_word')}: {confidence.high:g}"
        output = ModelOutput.from_content(model, text)
        tokens_in = sum(len(message.text.encode()) for message in messages) // _BYTES_PER_TOKEN
        output.usage = ModelUsage(input_tokens=tokens_in, output_tokens=1, total_tokens=tokens_in + 1)
        return output

    return reply
