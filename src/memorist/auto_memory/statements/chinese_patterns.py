"""Chinese patterns for remembering, standing rules and corrections. Pure."""

from __future__ import annotations

from memorist.auto_memory.statements.statement_patterns import (
    StatementPattern,
    define_statement_pattern,
)

_CHINESE_SEPARATOR = r"[，,：:、。\s]*"
_CHINESE_REMEMBER = r"(?:请|帮我|给我|你|要|一定要|务必)*(?:记住|记一下|记下来|记着|牢记|记到记忆里|写进记忆|加到记忆里|存到记忆里)"
_CHINESE_FROM_NOW_ON = r"(?:以后|今后|从现在(?:开始|起)|从今以后|从今往后|从今天(?:开始|起)|往后|之后的会话|接下来的所有会话)"
_CHINESE_ORDER = (
    r"(?:请|都|就|也|你|所有|每次|每个|一律|统一|只|只能|必须|务必|先|不要|不许|不准|不能|别|用|写|改|提交|回复|回答|跑|加"
    r"|让|把|给|默认|全部|凡是|尽量|直接)"
)
_CHINESE_PROJECT = r"(?:这个|本|我们的?|咱们的?|该)(?:仓库|项目|代码库|团队|公司|组)"

CHINESE_REMEMBER_PATTERNS: tuple[StatementPattern, ...] = (
    define_statement_pattern(
        "remember",
        _CHINESE_REMEMBER + r"(?:一点|这一点|这点|这件事|这个|这些)?[，,：:\s]+(?P<text>.{3,})",
    ),
    define_statement_pattern(
        "remember",
        _CHINESE_REMEMBER
        + r"(?P<text>(?:我|我们|咱们|这个项目|本项目|所有|以后|不要|别|每次|永远).{2,})",
        unless=r"我(?:功能|的?登录|的?状态|复选框|的?密码)|我的[^是为叫，,]{1,10}$",
    ),
    define_statement_pattern(
        "remember",
        r"(?:别忘了|不要忘了|别忘记|不要忘记|切记)(?:[，,：:]\s*(?P<text>.{4,})|(?=我们|咱们|我是|本项目|所有|以后)"
        r"(?P<other>.{4,}))",
    ),
    define_statement_pattern(
        "remember",
        r"(?P<text>.{5,}?)[，,。\s]+(?:请|帮我|你|要)*(?:记住|记一下|别忘了|记下来)(?:这一?点|这个|了)?[。！!]*$",
    ),
)

CHINESE_CORRECTION_PATTERNS: tuple[StatementPattern, ...] = (
    define_statement_pattern(
        "correction",
        r"我(?:都|已经|之前|早就)*说过(?:很?多少?次|好几次|多少遍|很多遍|好多次)?了?[，,：:\s]+(?P<text>.{3,})",
    ),
    define_statement_pattern(
        "correction", r"(?:跟你)?说过?(?:多少次|很多次|多少遍|好几遍)了?[，,：:\s]+(?P<text>.{3,})"
    ),
    define_statement_pattern(
        "correction", r"(?P<text>(?:别|不要)再.{2,}了[。！!]*$)", rejects_task_words=True
    ),
    define_statement_pattern(
        "correction", r"(?P<text>(?:别|不要|不用)(?:每次都?|老是|总是|动不动就?|一直).{2,})"
    ),
)

CHINESE_RULE_PATTERNS: tuple[StatementPattern, ...] = (
    define_statement_pattern(
        "rule",
        _CHINESE_FROM_NOW_ON
        + _CHINESE_SEPARATOR
        + r"(?P<text>(?!再|想|会|可能|有|如果|打算|能|的|是|我|要是|还)(?:"
        + _CHINESE_ORDER
        + r"|叫我|称呼|回|写|.{1,16}?(?:要|按|用|都|不要|别|必须|帮我|给我|统一|一律)).{2,})",
        unless=r"(?:说|讨论|考虑|处理|看|弄|做|优化)吧",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:我们|你|所有.{1,12}?)" + _CHINESE_FROM_NOW_ON + _CHINESE_ORDER + r".{2,})",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>每次.{1,30}?(?:都要|都得|都必须|之前先|前先|后都|完都|，都|，先|必须|记得|不要|也要|务必|就自动|就先"
        r"|就要).{2,})",
        unless=r"每次(?:请求|登录|点击|打开|刷新|调用|启动|进入|加载|访问|用户|保存)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:永远|绝对|千万|任何时候|无论如何)(?:都)?(?:不要|别|不能|不准|不许|不得|要|先|用|只).{2,})",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:总是|始终|一律|务必)(?:要|先|用|使用|写|跑|加|保持|以|把).{2,})",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:我们|咱们|"
        + _CHINESE_PROJECT
        + r")(?:这边|这里|全部|统一|一律|都|只|一直|一般)*用.{1,40}?[，,、 ]*(?:不用|而不是|别用|不要用|不是).{1,})",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:我们|咱们|"
        + _CHINESE_PROJECT
        + r")(?:里|中|内|的)?(?:统一|一律|从来不|从不|严禁|禁止).{2,})",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>在?"
        + _CHINESE_PROJECT
        + r"(?:里面|里|中|内|下)?[，,的\s]*.{0,40}?(?:必须|不要|禁止|一律|统一|要求|不允许|不得|都要|都用).{2,})",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>不要.{2,30}[，,]" + _CHINESE_PROJECT + r"(?:要求|规定|统一|一律|禁止).{2,})",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>我(?:更|比较|很|非常|还是|一直|个人)*(?:喜欢|偏好|倾向于?|习惯)(?!这|那|第|方案|它).{3,})",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>我(?:很|非常|真的|特别)*(?:不喜欢|讨厌|受不了|不希望|不想)(?:看到)?你.{2,})",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule", r"(?P<text>我希望你(?:以后|每次|总是|始终|一直|都|不要再).{2,})"
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>默认(?:情况下)?(?:都)?(?:请)?(?:用|使用|都|以|写|回复|按|不要|只).{3,})",
        rejects_task_words=True,
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:我们|团队|公司|大家)(?:已经|刚刚?|最后|最终)?(?:决定|商定|约定|定了|说好|敲定|达成一致).{3,})",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>我是(?:一个|一名|个|名|做)?.{0,12}(?:工程师|开发|程序员|设计师|学生|新手(?!模式|引导|教程)|初学者|研究员"
        r"|分析师|架构师|运维|测试|产品经理|老师|小白|数据科学家)(?!的).*)",
    ),
    define_statement_pattern("rule", r"(?P<text>我是(?:做|搞|学|教|写).{1,12}的(?:[，,。！].*)?$)"),
    define_statement_pattern(
        "rule",
        r"(?P<text>.{4,60}?)[，,。]*以后(?:都|也都|一直|就)(?:这样|这么做|按这个来)[。！!]*$",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:我叫|叫我|我的名字是|称呼我).{1,30})",
        unless=r".*(?:帮|改|写|函数|变量)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:请|麻烦)?(?:不要|别|禁止|不准|绝不|永远不要|千万别)(?:再)?(?:用|使用)[\w.@/+-]{1,30}[，,;； ]+"
        r"(?:请|而是|要|改|应该|统一)?(?:用|使用|改用).+)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:请|麻烦)?(?:用|使用)(?!另|这|那|第)[\w.@/+-]{1,30}[，, ]*(?:而不是|不要用|别用|代替|而非)(?!这|那|第)[\w.@/+-]+.{0,30})",
    ),
    define_statement_pattern(
        "rule", r"(?P<text>(?:请|麻烦)?用(?:中文|英文|英语|繁体中文)(?:回答|回复|交流|写).{0,40})"
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:我们|项目|团队)?(?:已经)?(?:从|由).{1,20}(?:换成|迁移到|切换到|改成|改用)了?.{1,30})",
        unless=r".*(?:这个|这里|帮我)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>我(?:对.{1,12}过敏|有.{1,10}过敏|吃素|是素食者|不吃|不喝|不能吃|色盲|是色盲|怕|讨厌|受不了|住在|在.{1,10}(?:工作|上班)).*)",
        unless=r".*(?:这|那|代码|报错)",
    ),
    define_statement_pattern(
        "rule",
        r"(?P<text>(?:我们|我|项目|团队)(?:现在|已经|早就|都)*(?:不再?用|不使用|弃用|淘汰|停用)(?!这|那).{1,30})",
    ),
)
